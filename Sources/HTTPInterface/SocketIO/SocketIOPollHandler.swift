import NIOCore

/// Detects that a connection ends while a `GET` waits on it, since no write could fail meanwhile.
///
/// There is one for each connection, with the last `GET` that waited. Lives on the connection's event loop.
final class SocketIOPollHandler: ChannelInboundHandler {
    typealias InboundIn = NIOAny
    typealias InboundOut = NIOAny

    private weak var session: SocketIOSession?
    private var number = 0

    /// A connection's handler.
    struct Watch: Sendable {
        fileprivate let channel: any Channel

        /// Watches the connection for a waiting `GET`.
        func set(_ session: SocketIOSession, _ number: Int) {
            channel.eventLoop.execute { [channel] in
                let pipeline = channel.pipeline.syncOperations
                let known = try? pipeline.handler(type: SocketIOPollHandler.self)
                let handler = known ?? SocketIOPollHandler()
                (handler.session, handler.number) = (session, number)
                if known == nil { try? pipeline.addHandler(handler, position: .first) }
                // The connection may have ended meanwhile.
                if !channel.isActive { session.lostPoll(number) }
            }
        }
    }

    static func watch(_ channel: any Channel) -> Watch { Watch(channel: channel) }

    func channelInactive(context: ChannelHandlerContext) {
        lose()
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed? = event as? ChannelEvent { lose() }
        context.fireUserInboundEventTriggered(event)
    }

    private func lose() {
        session?.lostPoll(number)
        session = nil
    }
}
