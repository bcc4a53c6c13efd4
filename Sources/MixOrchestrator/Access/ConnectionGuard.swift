import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Bounds what one connection can hold on to: requests that never end, bodies that nobody reads, answers that nobody
/// takes. What a head may measure the decoder bounds, how long one may take the idle time-out does.
///
/// Lives on the connection's event loop.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    struct Limits: Sendable {
        /// From the head of a request to its end.
        var request = TimeAmount.seconds(30)
        /// For a client that takes nothing of an answer.
        var stalledAnswer = TimeAmount.seconds(30)
        /// More of a body than that is not even read to be thrown away, in bytes.
        var body = 8 * BodyLimit.bytes
        /// From the beginning of a shutdown: for a request to come to its end, and for a client to take its answer.
        var shutdown = TimeAmount.milliseconds(1500)
        /// From the beginning of a shutdown, for everything.
        var shutdownAnswer = TimeAmount.milliseconds(2500)
    }

    private let limits: Limits
    /// When the request that is being read began.
    private var requestBegan: NIODeadline?
    private var bodyBytes = 0
    private var answersOpen = 0
    private var requestTimer: Scheduled<Void>?
    private var writeTimer: Scheduled<Void>?
    private var shutdownTimers: [Scheduled<Void>] = []

    init(_ limits: Limits) { self.limits = limits }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            requestBegan = .now()
            bodyBytes = 0
            answersOpen += 1
            if requestTimer == nil { watch(context, after: limits.request) }
        case .body(let buffer):
            bodyBytes += buffer.readableBytes
            guard bodyBytes <= limits.body else { return context.close(promise: nil) }
        case .end:
            requestBegan = nil
        }
        context.fireChannelRead(data)
    }

    /// One timer for a connection, not one for a request.
    private func watch(_ context: ChannelHandlerContext, after time: TimeAmount) {
        requestTimer = context.eventLoop.assumeIsolated().scheduleTask(in: time) { [weak self] in
            guard let self else { return }
            requestTimer = nil
            guard let requestBegan else { return }
            let end = requestBegan + limits.request
            if end <= .now() { context.close(promise: nil) } else { watch(context, after: end - .now()) }
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { answersOpen -= 1 }
        context.write(data, promise: promise)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        writeTimer?.cancel()
        writeTimer = nil
        if !context.channel.isWritable {
            writeTimer = context.eventLoop.assumeIsolated().scheduleTask(in: limits.stalledAnswer) {
                context.close(promise: nil)
            }
        }
        context.fireChannelWritabilityChanged()
    }

    /// The service shuts down. What is idle is closed further down, what is under way when it is answered; nobody may
    /// hold the shutdown by sending or reading slowly.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent, shutdownTimers.isEmpty {
            let eventLoop = context.eventLoop.assumeIsolated()
            shutdownTimers = [
                eventLoop.scheduleTask(in: limits.shutdown) { [weak self] in
                    if self?.requestBegan != nil || !context.channel.isWritable { context.close(promise: nil) }
                },
                eventLoop.scheduleTask(in: limits.shutdownAnswer) { context.close(promise: nil) },
            ]
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// A head that is too large is told so; everything else that is no HTTP is answered further down.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard case HTTPParserError.headerOverflow? = error as? HTTPParserError, answersOpen == 0 else {
            return context.fireErrorCaught(error)
        }
        let body = Self.tooLarge
        let head = HTTPResponse(
            status: .requestHeaderFieldsTooLarge,
            headerFields: [
                .contentType: "application/problem+json", .contentLength: "\(body.readableBytes)", .connection: "close",
            ])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(body)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete { _ in
            context.close(promise: nil)
        }
    }

    private struct Problem: Encodable {
        var type = "urn:mixorchestrator:problem:head-too-large"
        var title = "The request's head is too large"
        var status = HTTPResponse.Status.requestHeaderFieldsTooLarge.code
        var detail = "request line and headers together may have \(HeadLimit.bytes) bytes, and 100 headers"
    }
    private static let tooLarge = jsonBytes(Problem())

    func handlerRemoved(context: ChannelHandlerContext) { cancelTimers() }

    func channelInactive(context: ChannelHandlerContext) {
        cancelTimers()
        context.fireChannelInactive()
    }

    private func cancelTimers() {
        requestTimer?.cancel()
        writeTimer?.cancel()
        for timer in shutdownTimers { timer.cancel() }
        (requestTimer, writeTimer, shutdownTimers) = (nil, nil, [])
    }
}

enum HeadLimit {
    /// Of the request line, and of all headers together, in bytes.
    static let bytes = 64 << 10
}
