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
    /// Whether the client waits with its body until it hears that it is wanted.
    private var isBodyAwaited = false
    /// Nobody reads the body of an answered request, or of a method that has none, so it is not kept either.
    private var isBodyDropped = false
    /// Nothing more is read.
    private var isOver = false
    private var requestTimer: Scheduled<Void>?
    private var writeTimer: Scheduled<Void>?
    private var shutdownTimers: [Scheduled<Void>] = []

    init(_ limits: Limits) { self.limits = limits }

    /// What is read at once, in bytes. Ten such parts may wait for somebody to read them, on each connection.
    private static let longestRead = 8 << 10

    func handlerAdded(context: ChannelHandlerContext) {
        // Every channel of a socket has this option.
        try? context.channel.syncOptions?.setOption(
            .recvAllocator,
            value: AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 2048, maximum: Self.longestRead))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            // RFC 9112, section 3.2: whoever stands in front may have taken the other one. The first is `authority`.
            guard !head.headerFields.hasHost else { return refuse(Self.twoHosts, .badRequest, context) }
            isBodyAwaited = head.headerFields[.expect] != nil && head.announcesBody
            isBodyDropped = [.get, .head, .options].contains(head.method)
            requestBegan = .now()
            bodyBytes = 0
            answersOpen += 1
            if requestTimer == nil { watch(context, after: limits.request) }
        case .body(let buffer):
            bodyBytes += buffer.readableBytes
            guard bodyBytes <= limits.body else { return context.close(promise: nil) }
            isBodyAwaited = false
            if isBodyDropped { return }
        case .end:
            requestBegan = nil
            isBodyAwaited = false
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
        switch unwrapOutboundIn(data) {
        case .head(var head) where isBodyAwaited && answersOpen == 1:
            // The client may send its body all the same, or its next request: nobody can tell them apart.
            head.headerFields[.connection] = "close"
            isOver = true
            return context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            answersOpen -= 1
            if answersOpen == 0 { isBodyDropped = true }
            if isOver {
                let end = promise ?? context.eventLoop.makePromise()
                end.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
                return context.writeAndFlush(data, promise: end)
            }
        default: break
        }
        context.write(data, promise: promise)
    }

    /// Somebody is about to read the body.
    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is ExpectedBody.IsWanted else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        promise?.succeed(())
        guard isBodyAwaited, answersOpen == 1 else { return }
        isBodyAwaited = false
        context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
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
        refuse(Self.tooLarge, .requestHeaderFieldsTooLarge, context)
    }

    /// Answers a head that nobody further down gets to see, and ends the connection.
    private func refuse(_ body: ByteBuffer, _ status: HTTPResponse.Status, _ context: ChannelHandlerContext) {
        isOver = true
        guard answersOpen == 0 else { return context.close(promise: nil) }
        let head = HTTPResponse(
            status: status,
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
        var type: String
        var title: String
        var status: Int
        var detail: String
    }
    private static let tooLarge = jsonBytes(
        Problem(
            type: "urn:mixorchestrator:problem:head-too-large", title: "The request's head is too large",
            status: HTTPResponse.Status.requestHeaderFieldsTooLarge.code,
            detail: "request line and headers together may have \(HeadLimit.bytes) bytes, and 100 headers"))
    private static let twoHosts = jsonBytes(
        Problem(
            type: "urn:mixorchestrator:problem:two-hosts", title: "The request names two hosts",
            status: HTTPResponse.Status.badRequest.code, detail: "there are several Host headers: send one"))

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

extension HTTPFields {
    /// Whether there is a `Host` after the first: that one is the request's `authority`.
    fileprivate var hasHost: Bool { contains { $0.name.canonicalName == "host" } }
}

enum HeadLimit {
    /// Of the request line, and of all headers together, in bytes.
    static let bytes = 64 << 10
}
