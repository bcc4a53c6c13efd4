import CoreMetrics
import Synchronization

/// A backend of swift-metrics that keeps everything in memory and writes it as Prometheus reads it. Thread-safe.
///
/// A metric is described once, with its help text and kind; one that was not (of a library) gets its kind from what it is
/// made as. A name that is there as another kind, or a label set beyond `MetricFamily.mostSamples`, is never an error for
/// whoever counts: the first is kept apart and not shown, the second is counted under `other`.
final class PrometheusRegistry: MetricsFactory {
    private let families = Mutex<[String: MetricFamily]>([:])

    /// - Parameters:
    ///   - name: Without what Prometheus does not allow in one.
    ///   - labels: Names of the labels, in the order in which values are given.
    func describe(_ name: String, help: String, kind: MetricFamily.Kind, labels: [String]) {
        families.withLock { families in
            guard families[name] == nil else { return }
            families[name] = MetricFamily(name: name, help: help, kind: kind, labels: labels)
        }
    }

    /// Everything, families and samples in order of their names. Exposition format 0.0.4.
    func text() -> String {
        let families = families.withLock { $0.values.sorted { $0.name < $1.name } }
        return families.map(\.text).joined()
    }

    /// The samples of a gauge become these, and no others.
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

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        family(label, .counter, dimensions).sample(dimensions.map(\.1))
    }

    func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        family(label, .counter, dimensions).sample(dimensions.map(\.1))
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        family(label, .gauge, dimensions).sample(dimensions.map(\.1))
    }

    func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        guard aggregate else { return family(label, .gauge, dimensions).sample(dimensions.map(\.1)) }
        return family(label, .histogram(MetricFamily.sizes), dimensions).histogram(dimensions.map(\.1))
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        family(label, .histogram(MetricFamily.seconds), dimensions).histogram(dimensions.map(\.1))
    }

    // What was counted stays: Prometheus takes a counter that is gone for a restart.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}
