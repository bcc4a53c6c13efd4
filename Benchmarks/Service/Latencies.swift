/// Times of single requests, as people quote them.
struct Latencies {
    private var sorted: [Int64]

    /// - Parameter nanoseconds: In any order.
    init(_ nanoseconds: [Int64]) { sorted = nanoseconds.sorted() }

    var count: Int { sorted.count }

    /// In milliseconds; 0 when there are none.
    func percentile(_ percent: Double) -> Double {
        guard !sorted.isEmpty else { return 0 }
        let rank = Int((Double(sorted.count) * percent / 100).rounded(.up)) - 1
        return Double(sorted[min(max(rank, 0), sorted.count - 1)]) / 1e6
    }

    var summary: String {
        "p50 \(text(50)) ms, p99 \(text(99)) ms, p99.9 \(text(99.9)) ms, longest \(text(100)) ms"
    }

    private func text(_ percent: Double) -> String {
        let hundredths = (percentile(percent) * 100).rounded() / 100
        return "\(hundredths)"
    }
}
