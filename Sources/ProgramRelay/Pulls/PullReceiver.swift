import Dispatch
import EncodedMedia
import Synchronization

/// The owner's side of a pull: forwards its events until the last one, or until it is silenced.
///
/// Media must come from one thread at a time; `end(_:)` and `silence()` may be called from any.
final class PullReceiver: Sendable {
    private struct State {
        /// `nil` after the last event.
        var receive: (@Sendable (PullEvent) -> Void)?
        var isConnected = false
        var pacer = PullPacer()
    }

    private let pacing: PullPacing
    private let state: Mutex<State>
    /// Signalled when no more events are forwarded.
    private let isOver = DispatchSemaphore(value: 0)

    init(pacing: PullPacing = .live, _ receive: @escaping @Sendable (PullEvent) -> Void) {
        self.pacing = pacing
        state = Mutex(State(receive: receive))
    }

    /// Reports that the server has answered; further calls do nothing.
    func connected() {
        let receive = state.withLock { state in
            defer { state.isConnected = true }
            return state.isConnected ? nil : state.receive
        }
        receive?(.connected)
    }

    /// Whether the server has answered with a stream.
    var hasConnected: Bool { state.withLock { $0.isConnected } }

    /// Forwards items. With `PullPacing.timestamps`, waits until each one is due.
    ///
    /// - Parameter arrival: Time of arrival in ns of CLOCK_MONOTONIC.
    func deliver(_ items: [MediaItem], arrivedAt arrival: Int64) {
        guard !items.isEmpty else { return }
        guard pacing == .timestamps else {
            state.withLock { $0.receive }?(.media(items, arrivedAt: arrival))
            return
        }
        for item in items {
            let now = MonotonicClock.now()
            let due = state.withLock { $0.pacer.due(item, now: MediaTime(nanoseconds: now)) }
            let delay = max(0, due.nanoseconds - now)
            if delay > 0, isOver.wait(timeout: .now() + .nanoseconds(Int(delay))) == .success {
                // For the next item.
                isOver.signal()
                return
            }
            state.withLock { $0.receive }?(.media([item], arrivedAt: MonotonicClock.now()))
        }
    }

    /// Forwards the last event.
    func end(_ end: PullEnd) { silence()?(.ended(end)) }

    /// Stops forwarding events, apart from one that is being delivered.
    ///
    /// - Returns: The receiver, unless the last event had already been forwarded.
    @discardableResult
    func silence() -> (@Sendable (PullEvent) -> Void)? {
        let receive = state.withLock { $0.receive.take() }
        if receive != nil { isOver.signal() }
        return receive
    }
}
