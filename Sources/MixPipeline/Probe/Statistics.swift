extension Collection where Element: BinaryFloatingPoint {
    /// `nil` if empty.
    var median: Element? { percentile(0.5) }

    /// The value that `share` (0…1) of all values do not exceed, nearest rank; `nil` if empty. For an even number the
    /// median is the upper one.
    func percentile(_ share: Double) -> Element? {
        guard !isEmpty else { return nil }
        let sorted = self.sorted()
        return sorted[Swift.min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }

    /// `nil` if empty.
    var mean: Element? { isEmpty ? nil : reduce(0, +) / Element(count) }
}
