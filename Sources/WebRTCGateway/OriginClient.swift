import MediaFormats
import MixModel
import RTMP
import TextFormats

/// The connection from which a worker reads the stream that it plays: to a program's relay, to the ingest, or to another
/// server.
///
/// `@unchecked Sendable`: all state belongs to the socket loop, and every method must be called there.
final class OriginClient: @unchecked Sendable {
    /// A tag of the stream, independent of its transport.
    struct Tag: Sendable {
        var kind: FLVTag.Kind
        var timestamp: UInt32
        var body: [UInt8]
    }

    enum Event: Sendable {
        /// A new connection begins, with the headers and the current group of pictures.
        case began
        case tags([Tag])
        /// The connection has ended.
        ///
        /// - Parameter words: The reason, without secrets.
        case ended(words: String)
    }

    private let origin: PlayOrigin
    private let onEvent: (Event) -> Void
    private var program: ProgramClient?
    private var session: RTMPSession?
    /// Removes the secrets of the session's URL from texts.
    private var redaction = URLRedaction("")

    /// - Parameter onEvent: Called on the loop, never from within `dial()`.
    init(_ origin: PlayOrigin, onEvent: @escaping (Event) -> Void) {
        self.origin = origin
        self.onEvent = onEvent
    }

    /// Connects, in place of any earlier connection. Events follow.
    func dial() {
        close()
        switch origin {
        case .program(let socket, let detour): readProgram(socket, detour)
        // The ingest says when a publisher is gone.
        case .publisher(let url): play(url, within: nil, timeouts: .init(step: 10, idle: 0))
        case .server(let url, let reach):
            let limits = reach.map { Destination.Limits(reach: $0, setting: "sources.allow") }
            play(url, within: limits, timeouts: .init())
        }
    }

    /// Asks for a keyframe. Has no effect if the sender cannot be asked.
    func requestKeyframe() {
        program?.requestKeyframe()
        session?.requestKeyframe()
    }

    /// Ends without an event.
    func close() {
        program?.close()
        program = nil
        session?.stop()
        session = nil
    }

    private func readProgram(_ socket: String, _ detour: ProgramDetour?) {
        guard let request = try? RelayCommand.viewFLV(keyframeRequests: true).document(),
            let keyframeRequest = try? RelayCommand.requestKeyframe.document()
        else { return }
        let client = ProgramClient(
            path: socket, request: request, keyframeRequest: keyframeRequest,
            detour: detour.map { ProgramClient.Detour(path: $0.socket, request: $0.request) }
        ) { [weak self] event in
            guard let self else { return }
            switch event {
            case .began: onEvent(.began)
            case .tags(let tags):
                onEvent(.tags(tags.map { Tag(kind: $0.kind, timestamp: $0.timestamp, body: $0.body) }))
            case .ended:
                program = nil
                onEvent(.ended(words: "no relay has the program"))
            }
        }
        program = client
        client.open()
    }

    /// - Parameter limits: Addresses to which the connection may go; `nil` allows any.
    private func play(_ url: String, within limits: Destination.Limits?, timeouts: RTMPSession.Timeouts) {
        redaction = URLRedaction(url)
        let address: RTMPAddress
        do throws(RTMPError) { address = try RTMPAddress(url) } catch {
            let words = redaction.clean("\(error)")
            return SocketLoop.shared.perform { [weak self] in self?.onEvent(.ended(words: words)) }
        }
        let session = RTMPSession(.play, address, limits: limits, timeouts: timeouts) {
            [weak self] event in self?.take(event)
        }
        self.session = session
        session.start()
    }

    private func take(_ event: RTMPSession.Event) {
        switch event {
        case .began: onEvent(.began)
        case .media(let messages, _):
            let tags = messages.compactMap { message in
                FLVTag.Kind(rawValue: message.kind.rawValue).map { kind in
                    Tag(kind: kind, timestamp: message.timestamp, body: message.body)
                }
            }
            onEvent(.tags(tags))
        case .prepared, .acknowledged, .keyframeRequested, .takesKeyframeRequests, .reconnectRequested: break
        case .ended(let fault):
            session = nil
            onEvent(.ended(words: redaction.clean(fault.words)))
        }
    }
}
