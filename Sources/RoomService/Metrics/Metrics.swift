import CoreMetrics
import EncodedMedia
import Synchronization

/// The service's counters and measurements, over swift-metrics. Thread-safe.
///
/// Labels are names of layouts and words of this program, never URLs, users, rooms, tokens or other text from outside.
package final class Metrics: Sendable {
    /// Registry of all metrics; also the backend of libraries that use swift-metrics.
    package let registry = PrometheusRegistry()
    /// Start of the service, in ns of CLOCK_MONOTONIC. Latencies with an earlier cause are not measured.
    package let startedAt = MonotonicClock.now()

    /// Handles of the metrics without labels, found without a lock.
    private let plainCounters: [Counter: CoreMetrics.Counter]
    private let plainTimers: [Timer: CoreMetrics.Timer]

    private struct Handles {
        var requests: [RequestKind: RequestHandles] = [:]
        var counters: [Counter: [[String]: CoreMetrics.Counter]] = [:]
        var timers: [Timer: [[String]: CoreMetrics.Timer]] = [:]
        var sizes: [Size: CoreMetrics.Recorder] = [:]
    }
    private let handles = Mutex(Handles())

    package init() {
        for counter in Counter.allCases {
            registry.describe(counter.rawValue, help: counter.help, kind: .counter, labels: counter.labels)
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
        // A counter that exists from the start also shows its first step.
        var counters: [Counter: CoreMetrics.Counter] = [:]
        for counter in Counter.allCases where counter.labels.isEmpty {
            counters[counter] = CoreMetrics.Counter(label: counter.rawValue, dimensions: [], factory: registry)
        }
        plainCounters = counters
        var timers: [Timer: CoreMetrics.Timer] = [:]
        for timer in Timer.allCases where timer.labels.isEmpty {
            timers[timer] = CoreMetrics.Timer(label: timer.rawValue, dimensions: [], factory: registry)
        }
        plainTimers = timers
        set(.buildInfo, [([ServiceVersion.text], 1)])
    }

    /// Returns the route's label, from a fixed set: unknown paths would create labels without limit.
    package static func route(_ endpoint: String?) -> String {
        endpoint.map { $0 == "NotFound" ? "none" : "/" + $0.drop { $0 == "/" } } ?? "none"
    }

    // MARK: Without labels

    package func count(_ counter: Counter, by amount: Int64 = 1) {
        plainCounters[counter]?.increment(by: max(amount, 0))
    }

    /// - Parameter nanoseconds: Duration in ns. Negative values count as 0.
    package func observe(_ timer: Timer, nanoseconds: Int64) {
        plainTimers[timer]?.recordNanoseconds(max(nanoseconds, 0))
    }

    // MARK: With labels

    /// The properties that distinguish requests in the metrics.
    private struct RequestKind: Hashable {
        var method: String
        var endpoint: String?
        var statusClass: Int
    }
    private typealias RequestHandles = (count: CoreMetrics.Counter, duration: CoreMetrics.Timer)

    /// - Parameters:
    ///   - method: A method from a fixed set.
    ///   - endpoint: Path of the route; `nil` when no route serves the request.
    ///   - duration: Duration in ns.
    package func request(_ method: String, _ endpoint: String?, status: Int, duration: Int64) {
        let kind = RequestKind(method: method, endpoint: endpoint, statusClass: status / 100)
        let handle = handles.withLock { handles in
            if let handle = handles.requests[kind] { return handle }
            let route = Self.route(endpoint)
            let values = [method, route, "\(kind.statusClass)xx"]
            let handle = (
                count: CoreMetrics.Counter(
                    label: Counter.httpRequests.rawValue,
                    dimensions: Array(zip(Counter.httpRequests.labels, values)), factory: registry),
                duration: CoreMetrics.Timer(
                    label: Timer.httpRequest.rawValue, dimensions: Array(zip(Timer.httpRequest.labels, [route])),
                    factory: registry)
            )
            handles.requests[kind] = handle
            return handle
        }
        handle.count.increment()
        handle.duration.recordNanoseconds(max(duration, 0))
    }

    /// - Parameter labels: A value for each of the counter's labels.
    package func count(_ counter: Counter, _ labels: String..., by amount: Int64 = 1) {
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
    ///   - nanoseconds: Duration in ns. Negative values count as 0.
    ///   - labels: A value for each of the timer's labels.
    package func observe(_ timer: Timer, nanoseconds: Int64, _ labels: String...) {
        let handle = handles.withLock { handles in
            if let handle = handles.timers[timer]?[labels] { return handle }
            let handle = CoreMetrics.Timer(
                label: timer.rawValue, dimensions: Array(zip(timer.labels, labels)), factory: registry)
            handles.timers[timer, default: [:]][labels] = handle
            return handle
        }
        handle.recordNanoseconds(max(nanoseconds, 0))
    }

    package func observe(_ size: Size, _ value: Int) {
        let handle = handles.withLock { handles in
            if let handle = handles.sizes[size] { return handle }
            let handle = CoreMetrics.Recorder(label: size.rawValue, aggregate: true, factory: registry)
            handles.sizes[size] = handle
            return handle
        }
        handle.record(value)
    }

    /// Replaces all samples of a gauge.
    package func set(_ gauge: Gauge, _ samples: [(labels: [String], value: Double)]) {
        registry.replace(gauge.rawValue, samples)
    }

    package func set(_ gauge: Gauge, _ value: Double) { set(gauge, [([], value)]) }

    package func set(_ gauge: Gauge, _ counts: [String: Int]) {
        set(gauge, counts.map { ([$0.key], Double($0.value)) })
    }
}
