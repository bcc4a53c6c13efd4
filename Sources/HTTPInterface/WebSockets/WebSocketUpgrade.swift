import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOWebSocket

/// Intercepts WebSocket requests on an HTTP connection, and turns the connection into a WebSocket.
///
/// The request never reaches Hummingbird, whose task for the connection waits for the next request until the connection ends.
///
/// Lives on the connection's event loop.
final class WebSocketUpgrade: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let server: WebSocketServer
    private var answersOpen = 0
    /// The request that is being read, and its route.
    private var asked: (HTTPRequest, WebSocketRoute)?
    /// Whether all further parts are dropped.
    private var isOver = false

    init(_ server: WebSocketServer) { self.server = server }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            guard let route = server.route(for: head) else {
                answersOpen += 1
                break
            }
            // Its answer would overtake others.
            guard answersOpen == 0 else { return stop(context) }
            asked = (head, route)
            return
        case .body:
            // A request for a WebSocket has no body.
            if asked != nil { return stop(context) }
        case .end:
            guard let (head, route) = asked else { break }
            asked = nil
            return answer(head, route, context)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { answersOpen -= 1 }
        context.write(data, promise: promise)
    }

    private func stop(_ context: ChannelHandlerContext) {
        isOver = true
        context.close(promise: nil)
    }

    private func answer(_ head: HTTPRequest, _ route: WebSocketRoute, _ context: ChannelHandlerContext) {
        let address = context.remoteAddress?.ipAddress ?? "unknown"
        do throws(HTTPProblem) {
            guard !head.headerFields.hasHost else { throw .twoHosts }
            if let refusal = route.refusal(head, address) { return refuse(refusal, context) }
            let fields = try WebSocketHandshake.answer(to: head)
            try server.enter(address, route)
            isOver = true
            context.write(
                wrapOutboundOut(.head(HTTPResponse(status: .switchingProtocols, headerFields: fields))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            upgrade(context, route, address, head)
        } catch {
            refuse(WebSocketRefusal(error), context)
        }
    }

    private func refuse(_ refusal: WebSocketRefusal, _ context: ChannelHandlerContext) {
        isOver = true
        var fields = refusal.headers
        fields[.contentLength] = "\(refusal.body.readableBytes)"
        fields[.connection] = "close"
        context.write(
            wrapOutboundOut(.head(HTTPResponse(status: refusal.status, headerFields: fields))), promise: nil)
        context.write(wrapOutboundOut(.body(refusal.body)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete { _ in
            context.close(promise: nil)
        }
    }

    /// Replaces HTTP's handlers by those of WebSockets.
    private func upgrade(
        _ context: ChannelHandlerContext, _ route: WebSocketRoute, _ address: String, _ head: HTTPRequest
    ) {
        let pipeline = context.pipeline.syncOperations
        let handler = WebSocketHandler(route.limits, address: address) { [server] socket in
            server.take(socket, at: route, head)
        } onEnd: { [server] in
            server.leave(address, route)
        }
        do {
            try pipeline.addHandlers(
                [
                    WebSocketFrameEncoder(),
                    ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: route.limits.message)), handler,
                ], position: .before(self))
        } catch {
            // The connection has ended: no handler will report it.
            server.leave(address, route)
            return context.close(promise: nil)
        }
        do {
            // Its idle time counts requests.
            pipeline.removeHandler(try pipeline.handler(type: HTTPConnectionStateHandler.self), promise: nil)
            pipeline.removeHandler(try pipeline.handler(type: HTTP1ToHTTPServerCodec.self), promise: nil)
            pipeline.removeHandler(try pipeline.handler(type: HTTPResponseEncoder.self), promise: nil)
            // It is removed once it has processed the bytes that it is reading.
            pipeline.removeHandler(
                try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self), promise: nil)
            pipeline.removeHandler(self, promise: nil)
        } catch {
            // Hummingbird's pipeline has these handlers; another one's connections are closed.
            context.close(promise: nil)
        }
    }
}
