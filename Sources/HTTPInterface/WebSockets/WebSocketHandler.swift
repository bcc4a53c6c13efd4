import NIOCore
import NIOWebSocket

/// The frames of one WebSocket connection: answers pings, checks that the client is alive, and closes with a handshake.
///
/// Lives on the connection's event loop.
final class WebSocketHandler: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let limits: WebSocketLimits
    private let address: String
    private let onOpen: (WebSocket) -> Void
    private let onEnd: () -> Void
    private var reader: WebSocketReader
    private var socket: WebSocket?
    private var context: ChannelHandlerContext?
    /// Whether a close frame was sent.
    private var isClosing = false
    /// Whether the channel waits for room before it continues to read.
    private var isHeld = false
    /// Number of pings since the last data from the client.
    private var silentPings = 0
    /// Whether a pong waits for the client, and the payload of the last ping since then.
    private var isPonging = false
    private var nextPong: [UInt8]?
    private var pings: Scheduled<Void>?
    private var deadline: Scheduled<Void>?

    /// Number of consecutive pings after which a silent client is disconnected.
    private static let mostSilentPings = 2

    /// - Parameters:
    ///   - onOpen: Called with the connection once it is ready.
    ///   - onEnd: Called once when the connection has ended.
    init(
        _ limits: WebSocketLimits, address: String, onOpen: @escaping (WebSocket) -> Void, onEnd: @escaping () -> Void
    ) {
        self.limits = limits
        self.address = address
        self.onOpen = onOpen
        self.onEnd = onEnd
        reader = WebSocketReader(largest: limits.message)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let socket = WebSocket(self, channel: context.channel, address: address, limits: limits)
        self.socket = socket
        schedulePing(context)
        onOpen(socket)
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    private func end() {
        pings?.cancel()
        deadline?.cancel()
        guard let socket else { return }
        socket.ended()
        (self.socket, context) = (nil, nil)
        onEnd()
    }

    // MARK: Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        silentPings = 0
        let event = reader.take(
            WebSocketReader.Frame(
                isFinal: frame.fin, hasReservedBits: !frame.reservedBits.isEmpty,
                opcode: UInt8(webSocketOpcode: frame.opcode), isMasked: frame.maskKey != nil,
                payload: Array(frame.unmaskedData.readableBytesView)))
        switch event {
        case nil, .pong: break
        case .message(let message): if !isClosing { socket?.received(message) }
        case .ping(let payload): pong(payload)
        case .closed(let code): finish(echoing: code)
        case .broken(let reason): close(reason)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case NIOWebSocketError.invalidFrameLength: close(.tooLarge(limits.message))
        case is NIOWebSocketError: close(.protocolError("a control frame must be whole and have at most 125 bytes"))
        // What arrives after an error is dropped while the client reads the close frame.
        case is ByteToMessageDecoderError: break
        default: context.close(promise: nil)
        }
    }

    func read(context: ChannelHandlerContext) {
        guard isClosing || socket?.hasRoom != false else {
            isHeld = true
            return
        }
        context.read()
    }

    /// Continues to read, after the service has taken a message.
    func resume() {
        guard isHeld, let context else { return }
        isHeld = false
        context.read()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        // Later handlers know only HTTP: they would close the connection without a close frame.
        case is ChannelShouldQuiesceEvent: close(.goingAway("the service stops"))
        case ChannelEvent.inputClosed: context.close(promise: nil)
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    // MARK: Writing

    func write(_ bytes: ByteBuffer, isText: Bool) {
        guard let context, !isClosing else { return }
        let socket = socket
        let count = bytes.readableBytes
        write(isText ? .text : .binary, bytes, context).whenComplete { _ in socket?.written(count) }
    }

    /// Answers a ping. While one pong waits for the client, only the last of the further pings is answered (RFC 6455,
    /// section 5.5.3), so that a client that pings and does not read fills no memory.
    private func pong(_ payload: [UInt8]) {
        guard let context, !isClosing else { return }
        guard !isPonging else { return nextPong = payload }
        isPonging = true
        write(.pong, ByteBuffer(bytes: payload), context).assumeIsolated().whenComplete { [weak self] _ in
            guard let self else { return }
            isPonging = false
            guard let next = nextPong else { return }
            nextPong = nil
            pong(next)
        }
    }

    private func schedulePing(_ context: ChannelHandlerContext) {
        let interval = TimeAmount.milliseconds(Int64(limits.pingInterval))
        pings = context.eventLoop.assumeIsolated().scheduleTask(in: interval) { [weak self] in self?.ping() }
    }

    private func ping() {
        guard let context, !isClosing else { return }
        // While the client is not read, its answers cannot be seen.
        if !isHeld {
            guard silentPings < Self.mostSilentPings else { return context.close(promise: nil) }
            silentPings += 1
            write(.ping, ByteBuffer())
        }
        schedulePing(context)
    }

    /// Sends a close frame and gives the client a moment to answer it.
    func close(_ reason: WebSocketClose) {
        guard let context, !isClosing else { return }
        sendClose(reason.code, reason.reason)
        socket?.ended()
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(limits.closing))) {
            [weak self] in self?.context?.close(promise: nil)
        }
        resume()
    }

    /// Answers the client's close frame, if it came first, and closes the connection, as RFC 6455, section 7.1.1, asks of servers.
    private func finish(echoing code: UInt16?) {
        guard let context else { return }
        if !isClosing { sendClose(code, "") }
        socket?.ended()
        // All earlier data was flushed, so that it is in the socket's buffer, or waits for a client that does not read.
        context.close(promise: nil)
    }

    private func sendClose(_ code: UInt16?, _ reason: String) {
        isClosing = true
        var payload = ByteBuffer()
        if let code {
            payload.writeInteger(code)
            payload.writeString(reason)
        }
        write(.connectionClose, payload)
    }

    private func write(_ opcode: WebSocketOpcode, _ payload: ByteBuffer) {
        if let context { _ = write(opcode, payload, context) }
    }

    private func write(
        _ opcode: WebSocketOpcode, _ payload: ByteBuffer, _ context: ChannelHandlerContext
    ) -> EventLoopFuture<Void> {
        context.writeAndFlush(wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, data: payload)))
    }
}
