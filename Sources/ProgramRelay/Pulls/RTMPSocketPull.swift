import Dispatch
import MediaFormats
import MixModel
import RTMP
import Synchronization
import TextFormats

/// Pulls a stream over RTMP or RTMPS with a socket of its own. Each event holds the whole FLV tags that came together;
/// the first event begins with the FLV header.
///
/// URLs with a user name need `RTMPPull` instead; docs/adr/0010-rtmp-over-sockets.md says why there are two.
public final class RTMPSocketPull: SourcePull {
    /// State shared by the session's queue and the owner.
    private final class Receiver: Sendable {
        struct State {
            /// `nil` after the last event.
            var receive: (@Sendable (PullEvent) -> Void)?
            var hasBegun = false
        }
        let state: Mutex<State>

        init(_ receive: @escaping @Sendable (PullEvent) -> Void) { state = Mutex(State(receive: receive)) }

        func take(_ messages: [RTMPMessage], arrivedAt arrival: Int64) {
            let (receive, isFirst) = state.withLock { state in
                defer { state.hasBegun = true }
                return (state.receive, !state.hasBegun)
            }
            guard let receive else { return }
            var bytes = isFirst ? FLVTag.fileHeader : []
            bytes.reserveCapacity(messages.reduce(bytes.count) { $0 + $1.body.count + FLVTag.headerLength + 4 })
            for message in messages { message.appendTag(to: &bytes) }
            receive(.bytes(bytes, arrivedAt: arrival))
        }

        func end(_ reason: String) {
            let receive = silence()
            receive?(.ended(reason: reason))
        }

        @discardableResult
        func silence() -> (@Sendable (PullEvent) -> Void)? {
            state.withLock { state in
                defer { state.receive = nil }
                return state.receive
            }
        }
    }

    private let receiver: Receiver
    /// The session; `nil` if the URL is invalid.
    private let session: RTMPSession?

    /// Begins to connect and returns at once; a connection that cannot be made ends with `.ended`.
    /// - Parameters:
    ///   - url: `rtmp://` or `rtmps://` host, application and stream.
    ///   - limits: Addresses that the connection may go to; `nil` = any.
    ///   - trust: Trusted certificates; `nil` = those that the system trusts.
    ///   - connectTimeout: Limit for each step of connecting, in whole seconds, at least 1.
    ///   - idleTimeout: Time without media after which the connection ends, in whole seconds; 0 = never. Also the
    ///     longest wait for a publisher.
    static func open(
        _ url: String, limits: Destination.Limits? = nil, trust: TLSContext? = nil, connectTimeout: Int = 5,
        idleTimeout: Int = 15, onEvent: @escaping @Sendable (PullEvent) -> Void
    ) -> any SourcePull {
        RTMPSocketPull(
            url, limits, trust, RTMPSession.Timeouts(step: max(1, connectTimeout), idle: max(0, idleTimeout)), onEvent)
    }

    private init(
        _ url: String, _ limits: Destination.Limits?, _ trust: TLSContext?, _ timeouts: RTMPSession.Timeouts,
        _ onEvent: @escaping @Sendable (PullEvent) -> Void
    ) {
        let receiver = Receiver(onEvent)
        let redaction = URLRedaction(url)
        self.receiver = receiver
        let address: RTMPAddress
        do throws(RTMPError) {
            address = try RTMPAddress(url)
        } catch {
            session = nil
            // On another thread, as with every other event, because the caller may hold a lock.
            let reason = redaction.clean(error.description)
            DispatchQueue.global().async { receiver.end(reason) }
            return
        }
        let session = RTMPSession(.play, address, limits: limits, trust: trust, timeouts: timeouts) { event in
            switch event {
            case .began, .acknowledged: break
            case .media(let messages, let arrival): receiver.take(messages, arrivedAt: arrival)
            case .ended(let fault): receiver.end(redaction.clean(fault.words))
            }
        }
        self.session = session
        session.start()
    }

    deinit { session?.stop() }

    public func stop() {
        receiver.silence()
        session?.stop()
    }

    public func close() async {
        receiver.silence()
        await session?.close()
    }
}
