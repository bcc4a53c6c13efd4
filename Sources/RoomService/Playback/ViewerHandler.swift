import NIOCore

/// One viewer's connection during playback. Lives on the connection's event loop.
///
/// The handler stands between the socket and the HTTP encoder and writes chunks that are already framed: all viewers
/// share their memory, and a batch costs each of them one write. It writes only as much as the socket accepts, so a
/// slow viewer occupies no memory here except a position in the program.
final class ViewerHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var cursor = ViewerCursor()
    private weak var group: ViewerGroup?
    private var context: ChannelHandlerContext?
    private let done: EventLoopPromise<Void>
    private var isPumping = false
    private var isEnding = false
    /// Index in the group.
    var index = 0

    /// - Parameter done: Succeeds when the viewer has the program to its end; fails when the viewer is gone.
    init(_ group: ViewerGroup, done: EventLoopPromise<Void>) {
        self.group = group
        self.done = done
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { leave(nil) }

    func channelInactive(context: ChannelHandlerContext) {
        leave(ChannelError.ioOnClosedChannel)
        context.fireChannelInactive()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            pump()
            group?.tell()
        }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        // The service shuts down: the body ends properly after the data that the viewer has received.
        if event is ChannelShouldQuiesceEvent { complete() }
    }

    /// Writes batches for as long as the socket accepts them.
    func pump() {
        // A flush may report that the channel is writable again.
        guard !isPumping, let context, let group else { return }
        isPumping = true
        let skips = cursor.skips
        var bytes = 0
        while context.channel.isWritable {
            var hasWritten = false
            while context.channel.isWritable, let buffer = cursor.next(in: group.window) {
                bytes += buffer.readableBytes
                context.write(wrapOutboundOut(buffer), promise: nil)
                hasWritten = true
            }
            guard hasWritten else { break }
            context.flush()
        }
        isPumping = false
        group.count(bytes: bytes, skips: cursor.skips - skips)
        if isEnding, context.channel.isWritable { complete() }
    }

    /// Ends playback after the viewer has received the rest of the program.
    func end() {
        isEnding = true
        pump()
    }

    private func complete() {
        guard let context else { return }
        leave(nil)
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    private func leave(_ error: (any Error)?) {
        guard let group else { return }
        self.group = nil
        context = nil
        group.remove(self)
        if let error { done.fail(error) } else { done.succeed() }
    }
}
