import EncodedMedia
import RTMP

/// A timer on the socket loop that ticks every 50 ms.
///
/// `@unchecked Sendable`: all state belongs to the loop. Every method may be called from any thread.
final class Ticker: @unchecked Sendable {
    /// Time between two ticks in ns.
    private static let interval: Int64 = 50_000_000

    private let deadline = LoopDeadline()
    private let onTick: @Sendable () -> Void
    /// Time of the next tick in ns of CLOCK_MONOTONIC.
    private var due: Int64 = 0

    /// Creates a ticker that is not running yet.
    /// - Parameter onTick: Called on the loop, from `start()` to `stop()`.
    init(onTick: @escaping @Sendable () -> Void) { self.onTick = onTick }

    func start() {
        deadline.begin { [weak self] in self?.tick() }
        SocketLoop.shared.run { [self] in schedule(after: MonotonicClock.now()) }
    }

    func stop() { deadline.end() }

    private func tick() {
        // Counted from the due time, so that the pace does not drift. Missed ticks are skipped.
        let missed = max(0, MonotonicClock.now() - due) / Self.interval
        schedule(after: due + missed * Self.interval)
        onTick()
    }

    private func schedule(after time: Int64) {
        due = time + Self.interval
        deadline.set(due)
    }
}
