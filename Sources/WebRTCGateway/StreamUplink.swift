import MediaFormats
import RTMP

/// The connection that sends a publisher's stream to the server; reopened when it breaks.
///
/// `@unchecked Sendable`: all state belongs to the socket loop, and every method must be called there.
package final class StreamUplink: @unchecked Sendable {
    package enum Event: Sendable {
        case began
        /// A player of the stream needs a keyframe.
        case keyframeWanted
        case ended(ConnectionFault)
    }

    /// Number of bytes that may wait for the server before it counts as lost.
    private static let longestBacklog = 8 << 20

    private let loop = SocketLoop.shared
    private let address: RTMPAddress
    private let onEvent: (Event) -> Void
    private var session: RTMPSession?
    private var uplink: RTMPUplink?

    /// - Parameter onEvent: Called on the loop.
    package init(_ address: RTMPAddress, onEvent: @escaping (Event) -> Void) {
        self.address = address
        self.onEvent = onEvent
    }

    package var isOpen: Bool { uplink != nil }

    /// Connects. `began` or `ended` follows.
    package func dial() {
        session?.stop()
        uplink = nil
        // The server asks the service before it answers, and waits 8 s for it.
        let new = RTMPSession(
            .publish, address, takesKeyframeRequests: true, limits: nil,
            timeouts: RTMPSession.Timeouts(step: 10, idle: 0)
        ) { [weak self] event in self?.take(event) }
        session = new
        new.start()
    }

    private func take(_ event: RTMPSession.Event) {
        switch event {
        case .began(let uplink):
            self.uplink = uplink
            onEvent(.began)
        case .prepared, .media, .acknowledged, .takesKeyframeRequests, .reconnectRequested: break
        case .keyframeRequested: onEvent(.keyframeWanted)
        case .ended(let fault):
            uplink = nil
            session = nil
            onEvent(.ended(fault))
        }
    }

    package func send(_ tags: [FLVTag]) {
        guard let uplink else { return }
        for tag in tags { uplink.send(OutputTag(tag)) }
        guard uplink.connection.waiting > Self.longestBacklog else { return }
        session?.stop()
        session = nil
        self.uplink = nil
        onEvent(.ended(ConnectionFault(.lost, "the server does not read")))
    }

    /// Tells the server that the stream is over, and closes.
    package func close() async {
        let session = await withCheckedContinuation { continuation in
            loop.perform { [self] in
                uplink = nil
                defer { self.session = nil }
                continuation.resume(returning: self.session)
            }
        }
        await session?.finish(within: 2)
    }
}
