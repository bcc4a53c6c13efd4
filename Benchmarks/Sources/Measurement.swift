/// Runs a piece of work several times and prints what one unit of it costs.
struct Measurement {
    static let rounds = 20

    private let name: String

    init(of name: String) { self.name = name }

    /// - Parameters:
    ///   - units: how many units one call of `work` does.
    ///   - bytes: how many bytes of payload one call moves, where a throughput says something.
    ///   - work: its result is only used so that nothing is optimised away.
    /// - Returns: Nanoseconds of one unit, the median.
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
        var line = "\(padded(name)) \(text(median / Double(units))) ns (\(text(slow / Double(units)))) a \(unit)"
        if let bytes { line += ", \(text(Double(bytes) / median * 1e3)) MB/s" }
        // Never true; the optimiser cannot know.
        if used == Int.min { line += "." }
        print(line)
        return median / Double(units)
    }

    private func text(_ value: Double) -> String { "\(Int(value.rounded()))" }

    private func padded(_ text: String) -> String {
        text + String(repeating: " ", count: max(0, 44 - text.count))
    }
}
