import Synchronization

/// All samples of one metric. Thread-safe.
package final class MetricFamily: Sendable {
    package enum Kind: Hashable, Sendable {
        case counter, gauge
        /// A histogram with the upper bounds of its buckets, ascending. The last bucket, which has no bound, is not
        /// listed.
        case histogram([Double])

        var word: String {
            switch self {
            case .counter: "counter"
            case .gauge: "gauge"
            case .histogram: "histogram"
            }
        }

        func isLike(_ other: Kind) -> Bool { word == other.word }
    }

    /// Bucket bounds of durations, 1 ms to 10 s.
    package static let seconds = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    static let sizes: [Double] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    /// Maximum number of label sets of a metric. Further ones are counted together, with `other` for every label: an
    /// unbounded label must not fill the memory of this process or of Prometheus.
    static let mostSamples = 500

    package let name: String
    let help: String
    package let kind: Kind
    let labels: [String]

    private struct Samples {
        var numbers: [[String]: NumberSample] = [:]
        var histograms: [[String]: HistogramSample] = [:]
    }
    private let samples = Mutex(Samples())

    init(name: String, help: String, kind: Kind, labels: [String]) {
        (self.name, self.help, self.kind, self.labels) = (name, help, kind, labels)
    }

    func sample(_ values: [String]) -> NumberSample {
        samples.withLock { samples in
            let key = samples.numbers.count < Self.mostSamples ? values : values.map { _ in "other" }
            if let sample = samples.numbers[values] ?? samples.numbers[key] { return sample }
            let sample = NumberSample()
            samples.numbers[key] = sample
            return sample
        }
    }

    func histogram(_ values: [String]) -> HistogramSample {
        let bounds =
            switch kind {
            case .histogram(let bounds): bounds
            case .counter, .gauge: Self.seconds
            }
        return samples.withLock { samples in
            let key = samples.histograms.count < Self.mostSamples ? values : values.map { _ in "other" }
            if let sample = samples.histograms[values] ?? samples.histograms[key] { return sample }
            let sample = HistogramSample(bounds: bounds)
            samples.histograms[key] = sample
            return sample
        }
    }

    func replace(_ new: [(labels: [String], value: Double)]) {
        let numbers = new.prefix(Self.mostSamples).map { entry in
            let sample = NumberSample()
            sample.set(entry.value)
            return (entry.labels, sample)
        }
        samples.withLock { $0.numbers = Dictionary(numbers) { $1 } }
    }

    package var text: String {
        let samples = samples.withLock { $0 }
        var text = "# HELP \(name) \(PrometheusText.help(help))\n# TYPE \(name) \(kind.word)\n"
        for (values, sample) in samples.numbers.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            text += PrometheusText.sample(name, Array(zip(labels, values)), sample.value)
        }
        for (values, sample) in samples.histograms.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            let pairs = Array(zip(labels, values))
            let state = sample.state
            var total: UInt64 = 0
            for (bound, count) in zip(sample.bounds + [.infinity], state.counts) {
                total += count
                text += PrometheusText.sample(
                    name + "_bucket", pairs + [("le", PrometheusText.number(bound))], Double(total))
            }
            text += PrometheusText.sample(name + "_sum", pairs, state.sum)
            text += PrometheusText.sample(name + "_count", pairs, Double(total))
        }
        return text
    }
}
