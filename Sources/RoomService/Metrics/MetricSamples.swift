import CoreMetrics
import Synchronization

/// A number that is incremented or set. Thread-safe.
final class NumberSample: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler {
    private let number = Mutex(0.0)

    var value: Double { number.withLock { $0 } }

    func increment(by amount: Int64) { number.withLock { $0 += Double(amount) } }
    func increment(by amount: Double) { number.withLock { $0 += amount } }
    func decrement(by amount: Double) { number.withLock { $0 -= amount } }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { number.withLock { $0 = value } }
    func record(_ value: Int64) { set(Double(value)) }
    func record(_ value: Double) { set(value) }
    func reset() { set(0.0) }
}

/// The number of values in each bucket, and their sum. Thread-safe.
final class HistogramSample: TimerHandler, RecorderHandler {
    struct State {
        /// Count of each bucket, not cumulative. The last bucket has no bound.
        var counts: [UInt64]
        var sum = 0.0
    }
    let bounds: [Double]
    private let kept: Mutex<State>

    init(bounds: [Double]) {
        self.bounds = bounds
        kept = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    var state: State { kept.withLock { $0 } }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        kept.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    func record(_ value: Int64) { record(Double(value)) }
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}
