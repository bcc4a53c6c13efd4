/// Runs a piece of work several times and prints the cost of one unit of it.
struct Measurement {
    static let rounds = 20

    private let name: String

    init(of name: String) { self.name = name }

    /// Runs the work and prints the median and the 90th percentile.
    ///
    /// - Parameters:
    ///   - units: Number of units that one call of `work` does.
    ///   - bytes: Number of payload bytes that one call moves, if a throughput is meaningful.
    ///   - work: The work. Its result is used only to keep it from being optimised away.
    /// - Returns: The median cost of one unit in ns.
    @discardableResult
    func run(units: Int, called unit: String, bytes: Int? = nil, _ work: () -> Int) -> Double {
        let clock = ContinuousClock()
        // The first call fills caches and allocator pools.
        var used = work()
        let rounds = (0..<Self.rounds).map { _ in
            let elapsed = clock.measure { used &+= work() }
            let (seconds, attoseconds) = elapsed.components
            return Double(seconds) * 1e9 + Double(attoseconds) / 1e9
        }.sorted()
        let median = rounds[rounds.count / 2]
        let slow = rounds[rounds.count * 9 / 10]
        var line = "\(padded(name)) \(text(median / Double(units))) ns (\(text(slow / Double(units)))) per \(unit)"
        if let bytes { line += ", \(text(Double(bytes) / median * 1e3)) MB/s" }
        // This is never true, but the optimiser cannot know.
        if used == Int.min { line += "." }
        print(line)
        return median / Double(units)
    }

    private func text(_ value: Double) -> String { "\(Int(value.rounded()))" }

    private func padded(_ text: String) -> String {
        text + String(repeating: " ", count: max(0, 44 - text.count))
    }
}
