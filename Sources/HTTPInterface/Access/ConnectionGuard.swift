import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import RoomService

/// Bounds the resources that one connection can hold: requests that never end, bodies that the service does not read,
/// and answers that the client does not read.
///
/// The decoder bounds the size of a request's head, and the idle timeout bounds the time it may take.
///
/// Lives on the connection's event loop.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    struct Limits: Sendable {
        /// Maximum time from the head of a request to its end.
        var request = TimeAmount.seconds(30)
        /// Maximum time during which a client reads nothing of an answer.
        var stalledAnswer = TimeAmount.seconds(30)
        /// Maximum size of a body, in bytes. The connection is closed instead of reading and discarding more.
        var body = 8 * BodyLimit.bytes
        /// Maximum time from the beginning of a shutdown until a request has arrived and a client reads its answer.
        var shutdown = TimeAmount.milliseconds(1500)
        /// Maximum time from the beginning of a shutdown until the connection is closed.
        var shutdownAnswer = TimeAmount.milliseconds(2500)
    }

    private let limits: Limits
    /// Time at which the request being read began.
    private var requestBegan: NIODeadline?
    private var bodyBytes = 0
    private var answersOpen = 0
    /// Whether the client waits for `100 Continue` before it sends its body.
    private var isBodyAwaited = false
    /// Whether body parts are discarded: after the answer, and for methods without a body.
    private var isBodyDropped = false
    /// Whether reading has ended for good.
    private var isOver = false
    private var requestTimer: Scheduled<Void>?
    private var writeTimer: Scheduled<Void>?
    private var shutdownTimers: [Scheduled<Void>] = []

    private let notices: RTMPRecognition.Notices

    init(_ limits: Limits, _ notices: RTMPRecognition.Notices) {
        self.limits = limits
        self.notices = notices
    }

    /// Maximum size of one read, in bytes. Up to ten such parts may be queued on each connection.
    private static let longestRead = 8 << 10

    func handlerAdded(context: ChannelHandlerContext) {
        // Every channel of a socket has this option.
        try? context.channel.syncOptions?.setOption(
            .recvAllocator,
            value: AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 2048, maximum: Self.longestRead))
        // Before the decoder, which would only reject such bytes as not being HTTP.
        try? context.pipeline.syncOperations.addHandler(RTMPRecognition(notices), position: .first)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        var data = data
        switch unwrapInboundIn(data) {
        case .head(var head):
            // RFC 9112, section 3.2: a proxy in front may have used the other Host header. The first one is
            // `authority`.
            guard !head.headerFields.hasHost else { return refuse(.twoHosts, context) }
            // RFC 9110, section 7.6.1: options are compared without case, but later handlers know only `close`. nginx-rtmp
            // sends `Close` and waits until the connection ends.
            if let option = head.headerFields[.connection], option.utf8.count == 5, option.lowercased() == "close" {
                head.headerFields[.connection] = "close"
                data = wrapInboundOut(.head(head))
            }
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

    /// Starts the connection's timer. There is one for each connection, not one for each request.
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
            // The client may send its body anyway, or its next request. The two cannot be told apart, so the connection
            // ends.
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

    /// Sends `100 Continue` when the service is about to read the body.
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

    /// Handles the start of a shutdown.
    ///
    /// Later handlers close idle connections at once and busy ones after the answer. The timers set here keep a client
    /// that sends or reads slowly from delaying the shutdown.
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

    /// Answers a head that is too large. Later handlers answer all other data that is not HTTP.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard case HTTPParserError.headerOverflow? = error as? HTTPParserError, answersOpen == 0 else {
            return context.fireErrorCaught(error)
        }
        refuse(.headTooLarge, context)
    }

    /// Answers a head that later handlers do not receive, and closes the connection.
    private func refuse(_ problem: HTTPProblem, _ context: ChannelHandlerContext) {
        isOver = true
        guard answersOpen == 0 else { return context.close(promise: nil) }
        let body = problem.document
        let head = HTTPResponse(
            status: problem.status,
            headerFields: [
                .contentType: "application/problem+json", .contentLength: "\(body.readableBytes)", .connection: "close",
            ])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(body)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete { _ in
            context.close(promise: nil)
        }
    }

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

extension HTTPProblem {
    fileprivate static let headTooLarge = HTTPProblem(
        .requestHeaderFieldsTooLarge, "head-too-large", "The request's head is too large",
        detail: "request line and headers together may have at most \(HeadLimit.bytes) bytes and 100 headers")
}

enum HeadLimit {
    /// Maximum size of the request line and of all headers together, in bytes.
    static let bytes = 64 << 10
}
