import Dispatch
import Synchronization

/// A relay's timer.
///
/// Every tick wakes two threads, which costs as much as forwarding a packet. The pace is therefore slower while nothing
/// can be due soon.
final class Ticker: Sendable {
    enum Pace: Double, Sendable {
        /// Deadlines are near: a splice, a connection, a mixer.
        case quick = 0.05
        /// One source is on air, delivers, and nothing else is wanted.
        case calm = 0.25

        /// Time between two ticks, in seconds.
        var interval: Double { rawValue }
    }

    private nonisolated(unsafe) let timer: any DispatchSourceTimer
    private let pace = Mutex(Pace.quick)

    /// Creates a ticker that is not running yet.
    /// - Parameter onTick: Called on a queue of the ticker's own, from `start()` to `stop()`.
    init(onTick: @escaping @Sendable () -> Void) {
        timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "relay.tick"))
        timer.setEventHandler(handler: onTick)
    }

    func start() {
        schedule(.quick)
        timer.activate()
    }

    func stop() { timer.cancel() }

    /// Changes the pace. The next tick comes one interval of the new pace from now.
    func setPace(_ new: Pace) {
        let isNew = pace.withLock { pace in
            defer { pace = new }
            return pace != new
        }
        if isNew { schedule(new) }
    }

    private func schedule(_ pace: Pace) {
        timer.schedule(
            deadline: .now() + pace.interval, repeating: pace.interval,
            leeway: .milliseconds(Int(pace.interval * 100)))
    }
}
