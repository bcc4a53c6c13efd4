import EncodedMedia
import MediaFormats
import RTMP

/// Publishes over RTMP or RTMPS with its own socket.
///
/// The pushing thread writes a tag to the socket itself, so that no thread is woken for it. The loop's thread, which
/// all sockets share, works only when the socket is full or the server sends a message.
///
/// If the server asks for it, the stream continues on another connection from a keyframe on (`ReconnectMachine`).
final class RTMPSocketConnection: OutputConnection {
    private let shared: RTMPSocketState

    /// The service's own server, of another room or on another machine, asks the service before it accepts a publisher, and
    /// waits 8 s for it.
    static let timeouts = RTMPSession.Timeouts(step: 5, idle: 0, start: 9)

    /// Creates a connection; `open()` connects it.
    /// - Parameters:
    ///   - limits: Addresses to which it may go, also if the server names another one; `nil` allows all.
    ///   - trust: Trusted certificates; `nil` uses those of the system.
    ///   - policy: Limits of following the server's requests to reconnect.
    ///   - onOutcome: Called on the socket loop with the result of each request to reconnect, never from within a call of the
    ///     connection. Must return at once.
    /// - Throws: `RTMPError.badURL` if no attempt can succeed.
    init(
        url: String, limits: Destination.Limits? = nil, trust: TLSContext? = nil,
        policy: ReconnectMachine.Policy = ReconnectMachine.Policy(),
        onOutcome: @escaping @Sendable (ReconnectOutcome) -> Void = { _ in }
    ) throws(RTMPError) {
        shared = RTMPSocketState(
            try RTMPAddress(url), limits: limits, trust: trust, policy: policy, onOutcome: onOutcome)
    }

    deinit { shared.stop() }

    var tellsChanges: Bool { true }

    func open(onChange: @escaping @Sendable () -> Void) async {
        shared.withState { $0.onChange = onChange }
        shared.session?.start()
    }

    func push(_ tag: OutputTag) { shared.push(tag) }

    var waiting: Int {
        shared.withState { state in
            state.uplink.map { $0.connection.waiting + state.heldBytes } ?? state.early.reduce(0) { $0 + $1.size }
        }
    }

    /// Whether the present connection has bytes that the destination has not taken. What is held for the next one does
    /// not count: the destination has no chance to take it.
    var isWaiting: Bool {
        shared.withState { state in
            guard let progress = state.uplink?.connection.progress else { return !state.early.isEmpty }
            return progress.waiting + progress.unacknowledged > 0
        }
    }

    /// Number of bytes of media that the destination's machine has acknowledged. A server that is cut off acknowledges
    /// nothing, regardless of the buffers on this side.
    var taken: Int64 { shared.withState { $0.taken() } }

    var hasBegun: Bool { shared.withState { $0.uplink != nil } }

    var silentSince: Int64? {
        shared.withState { state in
            let taken = state.taken()
            return state.reading.silentSince(taken, now: MonotonicClock.now())
        }
    }

    var fault: OutputFault? { shared.withState { $0.fault } }

    func observe(at now: Int64) -> OutputMachine.Observation {
        shared.tick(at: now)
        return shared.withState { state in
            guard let uplink = state.uplink else {
                return OutputMachine.Observation(isWaiting: !state.early.isEmpty, fault: state.fault)
            }
            // The next observation knows what is received.
            uplink.connection.receiveWaiting()
            let progress = uplink.connection.progress
            let taken = state.taken(by: progress, uplink)
            return OutputMachine.Observation(
                hasBegun: true, taken: taken, isWaiting: progress.waiting + progress.unacknowledged > 0,
                silentSince: state.reading.check(taken, now: now), fault: state.fault)
        }
    }

    func abandon() { shared.stop() }

    func close() async {
        shared.endMove()
        await shared.session?.finish(within: 2)
    }
}
