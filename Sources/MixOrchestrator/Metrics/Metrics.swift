import CoreMetrics
import MixModel
import Synchronization

/// What the service counts and measures, over swift-metrics. Thread-safe.
///
/// Labels are names of layouts and words of this program, never URLs, users, rooms, tokens or other text from outside.
final class Metrics: Sendable {
    /// Where everything ends up; also the backend for libraries that use swift-metrics.
    let registry = PrometheusRegistry()
    /// ns of CLOCK_MONOTONIC; what was caused earlier is not measured.
    let startedAt = MonotonicClock.now()

    private struct Handles {
        var counters: [Counter: [[String]: CoreMetrics.Counter]] = [:]
        var timers: [Timer: [[String]: CoreMetrics.Timer]] = [:]
        var sizes: [Size: CoreMetrics.Recorder] = [:]
    }
    private let handles = Mutex(Handles())

    init() {
        for counter in Counter.allCases {
            registry.describe(counter.rawValue, help: counter.help, kind: .counter, labels: counter.labels)
            // A counter that is there from the start shows its first step.
            if counter.labels.isEmpty { count(counter, by: 0) }
        }
        for timer in Timer.allCases {
            registry.describe(
                timer.rawValue, help: timer.help, kind: .histogram(MetricFamily.seconds), labels: timer.labels)
        }
        for size in Size.allCases {
            registry.describe(size.rawValue, help: size.help, kind: .histogram(MetricFamily.sizes), labels: [])
        }
        for gauge in Gauge.allCases {
            registry.describe(gauge.rawValue, help: gauge.help, kind: gauge.kind, labels: gauge.labels)
        }
        set(.buildInfo, [([ServiceVersion.text], 1)])
    }

    /// - Parameter labels: A value for each of the counter's labels.
    func count(_ counter: Counter, _ labels: String..., by amount: Int64 = 1) {
        guard amount >= 0 else { return }
        let handle = handles.withLock { handles in
            if let handle = handles.counters[counter]?[labels] { return handle }
            let handle = CoreMetrics.Counter(
                label: counter.rawValue, dimensions: Array(zip(counter.labels, labels)), factory: registry)
            handles.counters[counter, default: [:]][labels] = handle
            return handle
        }
        handle.increment(by: amount)
    }

    /// - Parameters:
    ///   - nanoseconds: Less than nothing counts as nothing.
    ///   - labels: A value for each of the timer's labels.
    func observe(_ timer: Timer, nanoseconds: Int64, _ labels: String...) {
        let handle = handles.withLock { handles in
            if let handle = handles.timers[timer]?[labels] { return handle }
            let handle = CoreMetrics.Timer(
                label: timer.rawValue, dimensions: Array(zip(timer.labels, labels)), factory: registry)
            handles.timers[timer, default: [:]][labels] = handle
            return handle
        }
        handle.recordNanoseconds(max(nanoseconds, 0))
    }

    func observe(_ size: Size, _ value: Int) {
        let handle = handles.withLock { handles in
            if let handle = handles.sizes[size] { return handle }
            let handle = CoreMetrics.Recorder(label: size.rawValue, aggregate: true, factory: registry)
            handles.sizes[size] = handle
            return handle
        }
        handle.record(value)
    }

    /// The gauge's samples become these, and no others.
    func set(_ gauge: Gauge, _ samples: [(labels: [String], value: Double)]) {
        registry.replace(gauge.rawValue, samples)
    }

    func set(_ gauge: Gauge, _ value: Double) { set(gauge, [([], value)]) }

    func set(_ gauge: Gauge, _ counts: [String: Int]) {
        set(gauge, counts.map { ([$0.key], Double($0.value)) })
    }
}
