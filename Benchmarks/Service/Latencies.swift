/// The latencies of requests, summarised by percentiles.
struct Latencies {
    private var sorted: [Int64]

    /// Creates a summary.
    ///
    /// - Parameter nanoseconds: The latencies in any order.
    init(_ nanoseconds: [Int64]) { sorted = nanoseconds.sorted() }

    var count: Int { sorted.count }

    /// Returns a percentile in milliseconds; 0 if there are no latencies.
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
