import EncodedMedia
import RTMP

/// A timer on the socket loop.
///
/// Every tick wakes the loop, which costs as much as forwarding a packet. The pace is therefore slower while nothing
/// can be due soon.
///
/// `@unchecked Sendable`: all state belongs to the loop. Every method may be called from any thread.
final class Ticker: @unchecked Sendable {
    enum Pace: Double, Sendable {
        /// Deadlines are near: a splice, a connection, a mixer.
        case quick = 0.05
        /// One source is on air, delivers, and nothing else is wanted.
        case calm = 0.25

        /// Time between two ticks, in seconds.
        var interval: Double { rawValue }
        fileprivate var nanoseconds: Int64 { Int64(rawValue * 1e9) }
    }

    private let loop = SocketLoop.shared
    private let onTick: @Sendable () -> Void
    private var watch: SocketLoop.Watch?
    private var pace = Pace.quick
    /// Time of the next tick in ns of CLOCK_MONOTONIC.
    private var due: Int64 = 0
    private var isOver = false

    /// Creates a ticker that is not running yet.
    /// - Parameter onTick: Called on the loop, from `start()` to `stop()`.
    init(onTick: @escaping @Sendable () -> Void) { self.onTick = onTick }

    func start() {
        loop.run { [self] in
            guard watch == nil, !isOver else { return }
            let watch = SocketLoop.Watch(onReady: {}, onDeadline: { [weak self] in self?.tick() })
            self.watch = watch
            loop.add(watch)
            schedule(after: MonotonicClock.now())
        }
    }

    func stop() {
        loop.run { [self] in
            isOver = true
            if let watch { loop.remove(watch) }
            watch = nil
        }
    }

    /// Changes the pace. The next tick comes one interval of the new pace from now.
    func setPace(_ new: Pace) {
        loop.run { [self] in
            guard new != pace else { return }
            pace = new
            schedule(after: MonotonicClock.now())
        }
    }

    private func tick() {
        // From the time at which it was due, so that the pace does not drift. Ticks that were missed are left out.
        let missed = max(0, MonotonicClock.now() - due) / pace.nanoseconds
        schedule(after: due + missed * pace.nanoseconds)
        onTick()
    }

    private func schedule(after time: Int64) {
        due = time + pace.nanoseconds
        watch?.deadline = due
    }
}
