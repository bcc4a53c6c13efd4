import Dispatch
import EncodedMedia
import RTMP
import Synchronization
import TextFormats

/// Pulls a stream over RTMP or RTMPS with its own socket. Each event contains the items that arrived together.
///
/// URLs with a user name need `RTMPPull` instead; docs/adr/0010-rtmp-over-sockets.md explains why there are two.
package final class RTMPSocketPull: SourcePull, PullProtocol {
    package static let name = "RTMP"
    package static let summary =
        "H.264 and AAC; MP3, H.265, AV1 and some others are transcoded. A URL has an application and a stream name"
    package static let schemes = [
        PullScheme("rtmp", port: RTMPAddress.defaultPort), PullScheme("rtmps", port: RTMPAddress.defaultSecurePort),
    ]

    package static func takes(_ url: String) -> Bool { !RTMPAddress.hasCredentials(url) }

    package static func open(
        _ request: PullRequest, onEvent: @escaping @Sendable (PullEvent) -> Void
    ) -> any SourcePull {
        RTMPSocketPull(request, onEvent)
    }

    private let receiver: PullReceiver
    private let reader: FLVPullReader
    private let asks = Asks()
    /// The session; `nil` if the URL is invalid.
    private let session: RTMPSession?

    /// Whether the server forwards requests for keyframes.
    private final class Asks: Sendable { let areTaken = Atomic(false) }

    private init(_ request: PullRequest, _ onEvent: @escaping @Sendable (PullEvent) -> Void) {
        let receiver = PullReceiver(onEvent)
        let redaction = URLRedaction(request.url)
        let reader = FLVPullReader(receiver, request)
        self.receiver = receiver
        self.reader = reader
        let address: RTMPAddress
        do throws(RTMPError) {
            address = try RTMPAddress(request.url)
        } catch {
            session = nil
            // On another thread, as with every other event, because the caller may hold a lock.
            let end = PullEnd(ConnectionFault(error), redaction)
            DispatchQueue.global().async { receiver.end(end) }
            return
        }
        let session = RTMPSession(
            .play, address, limits: request.limits, trust: request.trust,
            timeouts: RTMPSession.Timeouts(step: request.options.connectTimeout, idle: request.options.idleTimeout)
        ) { [asks] event in
            switch event {
            case .prepared, .began, .acknowledged, .keyframeRequested, .reconnectRequested: break
            case .takesKeyframeRequests: asks.areTaken.store(true, ordering: .relaxed)
            case .media(let messages, let arrival): reader.push(messages, arrivedAt: arrival)
            case .ended(let fault): receiver.end(PullEnd(fault, redaction))
            }
        }
        self.session = session
        session.start()
    }

    deinit {
        session?.stop()
        reader.stop()
    }

    package var takesKeyframeRequests: Bool { asks.areTaken.load(ordering: .relaxed) }
    package func requestKeyframe() { session?.requestKeyframe() }
    package var transcoded: Set<Track> { reader.transcoded }

    package func stop() {
        receiver.silence()
        session?.stop()
        reader.stop()
    }

    package func close() async {
        receiver.silence()
        await session?.close()
        await reader.close()
    }
}
