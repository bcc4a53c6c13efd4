import CoreMetrics
import Synchronization

/// A backend of swift-metrics that keeps all metrics in memory and writes them as Prometheus text. Thread-safe.
///
/// `describe` gives a metric its help text and kind, once. A library's metric that is not described gets its kind from
/// the call that makes it. A name that exists as another kind, or a label set beyond `MetricFamily.mostSamples`, is
/// never an error for the caller: the former is kept separately and not shown, the latter is counted under `other`.
package final class PrometheusRegistry: MetricsFactory {
    private let families = Mutex<[String: MetricFamily]>([:])

    /// Describes a metric. Later descriptions of the same name are ignored.
    ///
    /// - Parameters:
    ///   - name: Name, with only the characters that Prometheus allows.
    ///   - labels: Names of the labels, in the order of their values.
    func describe(_ name: String, help: String, kind: MetricFamily.Kind, labels: [String]) {
        families.withLock { families in
            guard families[name] == nil else { return }
            families[name] = MetricFamily(name: name, help: help, kind: kind, labels: labels)
        }
    }

    /// Returns all metrics in exposition format 0.0.4, with families and samples ordered by name.
    package func text() -> String {
        let families = families.withLock { $0.values.sorted { $0.name < $1.name } }
        return families.map(\.text).joined()
    }

    /// Replaces all samples of a gauge.
    func replace(_ name: String, _ samples: [(labels: [String], value: Double)]) {
        families.withLock { $0[name] }?.replace(samples)
    }

    private func family(
        _ label: String, _ kind: MetricFamily.Kind, _ dimensions: [(String, String)]
    ) -> MetricFamily {
        let name = PrometheusText.name(label)
        return families.withLock { families in
            if let family = families[name], family.kind.isLike(kind), family.labels.count == dimensions.count {
                return family
            }
            let family = MetricFamily(
                name: name, help: "", kind: kind, labels: dimensions.map { PrometheusText.name($0.0) })
            if families[name] == nil { families[name] = family }
            return family
        }
    }

    // MARK: MetricsFactory

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        family(label, .counter, dimensions).sample(dimensions.map(\.1))
    }

    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        family(label, .counter, dimensions).sample(dimensions.map(\.1))
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        family(label, .gauge, dimensions).sample(dimensions.map(\.1))
    }

    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        guard aggregate else { return family(label, .gauge, dimensions).sample(dimensions.map(\.1)) }
        return family(label, .histogram(MetricFamily.sizes), dimensions).histogram(dimensions.map(\.1))
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        family(label, .histogram(MetricFamily.seconds), dimensions).histogram(dimensions.map(\.1))
    }

    // Counts are kept, because Prometheus treats a counter that disappears as a restart.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}
