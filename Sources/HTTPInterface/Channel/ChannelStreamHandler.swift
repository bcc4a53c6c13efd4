import NIOCore
import Synchronization

/// One follower's connection during a stream of events. Lives on the connection's event loop, except for `put`.
///
/// The handler stands between the socket and the HTTP encoder and writes chunks that are already framed, so that all
/// followers share their memory. A follower with too many waiting deliveries is disconnected.
final class ChannelStreamHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Largest number of deliveries that wait for a follower: a few seconds of a busy room.
    static let mostWaiting = 256

    /// The part of a follower that other threads access.
    final class Mailbox: Sendable {
        /// Number of deliveries that have not been passed to the socket; negative once the follower is gone.
        private let waiting = Atomic(0)
        private let lane: ChannelStreamLane

        init(_ lane: ChannelStreamLane) { self.lane = lane }

        /// Hands over a delivery without waiting.
        ///
        /// - Returns: False if the follower is too slow and is therefore disconnected. A follower that is gone leaves
        ///   by itself.
        func put(_ bytes: ByteBuffer, for handler: NIOLoopBound<ChannelStreamHandler>) -> Bool {
            let count = waiting.add(1, ordering: .relaxed).newValue
            guard count > 0 else { return true }
            guard count <= ChannelStreamHandler.mostWaiting else {
                lane.disconnect(handler)
                return false
            }
            lane.put(bytes, for: handler)
            return true
        }

        fileprivate func written(_ count: Int) { waiting.subtract(count, ordering: .relaxed) }
        fileprivate func close() { waiting.store(.min / 2, ordering: .relaxed) }
    }

    let mailbox: Mailbox
    private weak var lane: ChannelStreamLane.Followers?
    private let done: EventLoopPromise<Void>
    private var context: ChannelHandlerContext?
    private var waiting: CircularBuffer<ByteBuffer> = []
    private var isStarted = false
    private var isPumping = false
    private var isOver = false
    /// Whether the stream ends after the waiting deliveries.
    private var isEnding = false
    /// Whether something was written since the last heartbeat.
    var isFresh = false
    /// Index in the lane.
    var index = 0

    /// - Parameter done: Succeeds when the stream has ended properly; fails when the follower is gone.
    init(_ mailbox: Mailbox, lane: ChannelStreamLane.Followers, done: EventLoopPromise<Void>) {
        self.mailbox = mailbox
        self.lane = lane
        self.done = done
    }

    /// Begins to write: first the welcome, then the deliveries since.
    func start(with welcome: ByteBuffer) {
        isStarted = true
        lane?.add(self)
        context?.write(wrapOutboundOut(welcome), promise: nil)
        pump()
        context?.flush()
    }

    /// Adds a delivery. The caller must call `pump()`.
    func append(_ bytes: ByteBuffer) {
        if !isOver { waiting.append(bytes) }
    }

    /// Writes waiting deliveries as long as the socket accepts them.
    func pump() {
        // A flush may report that the channel is writable again.
        guard isStarted, !isPumping, !isOver else { return }
        isPumping = true
        while let context, context.channel.isWritable, !waiting.isEmpty {
            var count = 0
            while context.channel.isWritable, let bytes = waiting.popFirst() {
                context.write(wrapOutboundOut(bytes), promise: nil)
                count += 1
            }
            mailbox.written(count)
            isFresh = true
            context.flush()
        }
        isPumping = false
        if isEnding, waiting.isEmpty { complete() }
    }

    /// Ends the stream properly, after the waiting deliveries.
    func finish() {
        isEnding = true
        pump()
    }

    /// Writes a heartbeat unless the connection has been in use or is behind.
    func beat(_ bytes: ByteBuffer) {
        defer { isFresh = false }
        guard !isFresh, let context, context.channel.isWritable else { return }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }

    /// Ends the connection, because the follower is too slow.
    func disconnect() {
        context?.close(promise: nil)
        leave(ChannelError.ioOnClosedChannel)
    }

    // MARK: The channel

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { leave(nil) }

    func channelInactive(context: ChannelHandlerContext) {
        leave(ChannelError.ioOnClosedChannel)
        context.fireChannelInactive()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { pump() }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        switch event {
        // The service shuts down: the body ends properly.
        case is ChannelShouldQuiesceEvent: complete()
        // A follower that has closed its side sends nothing more. Otherwise, only the second heartbeat would fail.
        case ChannelEvent.inputClosed: disconnect()
        default: break
        }
    }

    private func complete() {
        guard let context else { return }
        leave(nil)
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    /// Ends the connection before the stream has begun.
    func abandon() { leave(nil) }

    private func leave(_ error: (any Error)?) {
        guard !isOver else { return }
        isOver = true
        mailbox.close()
        waiting = []
        context = nil
        if isStarted { lane?.remove(self) }
        if let error { done.fail(error) } else { done.succeed() }
    }
}
