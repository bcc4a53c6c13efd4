extension Collection where Element: BinaryFloatingPoint {
    /// The middle value; `nil` if empty. For an even number of values, it is the upper of the two.
    var median: Element? { percentile(0.5) }

    /// Returns the value that `share` (0…1) of all values do not exceed, nearest rank; `nil` if empty.
    func percentile(_ share: Double) -> Element? {
        guard !isEmpty else { return nil }
        let sorted = self.sorted()
        return sorted[Swift.min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }

    /// The arithmetic mean; `nil` if empty.
    var mean: Element? { isEmpty ? nil : reduce(0, +) / Element(count) }
}
