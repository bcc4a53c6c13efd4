import EncodedMedia
import MediaFormats
import RTMP
import Synchronization

/// Publishes over RTMP or RTMPS with its own socket.
///
/// The pushing thread writes a tag to the socket itself, so that no thread is woken for it. The loop's thread, which
/// all sockets share, works only when the socket is full or the server sends a message.
final class RTMPSocketConnection: OutputConnection {
    /// State shared by the loop and the owner.
    private final class Shared: Sendable {
        struct State {
            /// Tags pushed before the server was ready for them.
            var early: [OutputTag] = []
            var uplink: RTMPUplink?
            /// Number of bytes that the destination had taken at the last check, kept beyond the connection's end.
            var takenAtEnd: Int64?
            var reading = ReadingWatch()
            var fault: OutputFault?
            var onChange: (@Sendable () -> Void)?

            /// Returns the number of bytes that the destination's machine has acknowledged.
            mutating func taken() -> Int64 { uplink.map { taken(by: $0.connection.progress, $0) } ?? 0 }

            mutating func taken(by progress: TCPConnection.Progress, _ uplink: RTMPUplink) -> Int64 {
                let taken = max(takenAtEnd ?? 0, progress.acknowledged - uplink.bytesBefore)
                takenAtEnd = taken
                return taken
            }
        }
        let state = Mutex(State())

        func take(_ event: RTMPSession.Event) {
            let onChange = state.withLock { state -> (@Sendable () -> Void)? in
                switch event {
                case .began(let uplink):
                    for tag in state.early { uplink.send(tag) }
                    state.early = []
                    state.uplink = uplink
                case .media, .keyframeRequested, .takesKeyframeRequests: return nil
                case .acknowledged:
                    state.reading.confirmed(state.taken(), at: MonotonicClock.now())
                    return nil
                case .ended(let fault):
                    state.fault = OutputFault(fault)
                    state.early = []
                }
                return state.onChange
            }
            onChange?()
        }
    }

    private let shared = Shared()
    private let session: RTMPSession

    /// The service's own server, of another room or on another machine, asks the service before it accepts a publisher, and
    /// waits 8 s for it.
    static let timeouts = RTMPSession.Timeouts(step: 5, idle: 0, start: 9)

    /// Creates a connection; `open()` connects it.
    /// - Parameter trust: Trusted certificates; `nil` uses those of the system.
    /// - Throws: `RTMPError.badURL` if no attempt can succeed.
    init(url: String, limits: Destination.Limits? = nil, trust: TLSContext? = nil) throws(RTMPError) {
        let address = try RTMPAddress(url)
        session = RTMPSession(
            .publish, address, limits: limits, trust: trust, timeouts: Self.timeouts
        ) { [shared] event in shared.take(event) }
    }

    deinit { session.stop() }

    var tellsChanges: Bool { true }

    func open(onChange: @escaping @Sendable () -> Void) async {
        shared.state.withLock { $0.onChange = onChange }
        session.start()
    }

    func push(_ tag: OutputTag) {
        shared.state.withLock { state in
            guard state.fault == nil else { return }
            if let uplink = state.uplink { uplink.send(tag) } else { state.early.append(tag) }
        }
    }

    var waiting: Int {
        shared.state.withLock { state in
            state.uplink?.connection.waiting ?? state.early.reduce(0) { $0 + $1.size }
        }
    }

    var isWaiting: Bool {
        shared.state.withLock { state in
            guard let progress = state.uplink?.connection.progress else { return !state.early.isEmpty }
            return progress.waiting + progress.unacknowledged > 0
        }
    }

    /// Number of bytes of media that the destination's machine has acknowledged. A server that is cut off acknowledges
    /// nothing, regardless of the buffers on this side.
    var taken: Int64 { shared.state.withLock { $0.taken() } }

    var hasBegun: Bool { shared.state.withLock { $0.uplink != nil } }

    var silentSince: Int64? {
        shared.state.withLock { state in
            let taken = state.taken()
            return state.reading.silentSince(taken, now: MonotonicClock.now())
        }
    }

    var fault: OutputFault? { shared.state.withLock { $0.fault } }

    func observe(at now: Int64) -> OutputMachine.Observation {
        shared.state.withLock { state in
            guard let uplink = state.uplink else {
                return OutputMachine.Observation(isWaiting: !state.early.isEmpty, fault: state.fault)
            }
            let progress = uplink.connection.progress
            let taken = state.taken(by: progress, uplink)
            return OutputMachine.Observation(
                hasBegun: true, taken: taken, isWaiting: progress.waiting + progress.unacknowledged > 0,
                silentSince: state.reading.silentSince(taken, now: now), fault: state.fault)
        }
    }

    func abandon() { session.stop() }

    func close() async { await session.finish(within: 2) }
}
