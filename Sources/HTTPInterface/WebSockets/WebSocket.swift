import NIOCore
import Synchronization

/// One WebSocket connection, for the code that serves it. Thread-safe.
package final class WebSocket: Sendable {
    private struct State {
        /// Number of bytes that wait for the client.
        var outgoing = 0
        /// Number of messages that wait for the service.
        var waiting = 0
        var isClosed = false
    }

    /// IP address of the other end, which may be a proxy's.
    package let address: String
    private let limits: WebSocketLimits
    private let channel: any Channel
    private let handler: NIOLoopBound<WebSocketHandler>
    private let state = Mutex(State())
    private let messages: AsyncStream<WebSocketMessage>
    private let arrive: AsyncStream<WebSocketMessage>.Continuation

    init(_ handler: WebSocketHandler, channel: any Channel, address: String, limits: WebSocketLimits) {
        self.handler = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        self.channel = channel
        self.address = address
        self.limits = limits
        // Bounded, because nothing is read while `limits.waiting` messages are in it.
        (messages, arrive) = AsyncStream.makeStream()
    }

    /// Calls `body` with each message, one after another, until the connection ends. Call it once.
    package func forEach(_ body: (WebSocketMessage) async -> Void) async {
        for await message in messages {
            await body(message)
            let resumes = state.withLock { state in
                state.waiting -= 1
                return state.waiting == limits.waiting - 1
            }
            if resumes { channel.eventLoop.execute { self.handler.value.resume() } }
        }
    }

    /// Sends a text, unless the connection has ended. A client with too much waiting data is disconnected.
    package func send(_ text: String) { send(ByteBuffer(string: text), isText: true) }

    /// Sends a message, unless the connection has ended. A client with too much waiting data is disconnected.
    ///
    /// - Parameter isText: Whether the message is UTF-8.
    func send(_ bytes: ByteBuffer, isText: Bool) {
        let count = bytes.readableBytes
        enum Verdict { case send, overflow, closed }
        let verdict = state.withLock { state -> Verdict in
            guard !state.isClosed else { return .closed }
            guard state.outgoing + count <= limits.outgoing else {
                state.isClosed = true
                return .overflow
            }
            state.outgoing += count
            return .send
        }
        switch verdict {
        case .send: channel.eventLoop.execute { self.handler.value.write(bytes, isText: isText) }
        case .overflow: channel.close(promise: nil)
        case .closed: break
        }
    }

    /// Closes the connection with a handshake, or without one if the client does not take part in it.
    package func close(_ close: WebSocketClose) {
        channel.eventLoop.execute { self.handler.value.close(close) }
    }

    // MARK: For the handler

    /// Whether another message may be read.
    var hasRoom: Bool { state.withLock { $0.waiting < limits.waiting } }

    func received(_ message: WebSocketMessage) {
        state.withLock { $0.waiting += 1 }
        arrive.yield(message)
    }

    func written(_ count: Int) { state.withLock { $0.outgoing -= count } }

    /// Ends `forEach` after the messages that have arrived.
    func ended() {
        state.withLock { $0.isClosed = true }
        arrive.finish()
    }
}
