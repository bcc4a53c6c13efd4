import NIOCore
import RoomService

/// Makes a server pause accepting connections while few file descriptors are left, or after a failed accept. Without
/// this, the server would end.
package final class AcceptPause: ChannelDuplexHandler {
    package typealias InboundIn = Channel
    package typealias InboundOut = Channel
    package typealias OutboundIn = Never
    package typealias OutboundOut = Never

    /// Pause before the next check.
    private static let pause = TimeAmount.milliseconds(100)

    private var waiting: Scheduled<Void>?
    private var hasFailed = false

    private init() {}

    /// - Parameter server: The listening channel.
    package static func install(on server: any Channel) async {
        // A closing channel needs no handler.
        try? await server.eventLoop.submit {
            try server.pipeline.syncOperations.addHandler(AcceptPause(), position: .first)
        }.get()
    }

    package func read(context: ChannelHandlerContext) {
        guard waiting == nil else { return }
        if !hasFailed, !DescriptorLimit.isNear { return context.read() }
        hasFailed = false
        waiting = context.eventLoop.assumeIsolated().scheduleTask(in: Self.pause) { [weak self] in
            self?.waiting = nil
            self?.read(context: context)
        }
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is IOError else { return context.fireErrorCaught(error) }
        hasFailed = true
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        waiting?.cancel()
        waiting = nil
    }
}
