import NIOCore
import RoomService

/// Lets a server accept no connection while hardly a descriptor is left, or after one that could not be accepted. By itself it
/// would end.
package final class AcceptPause: ChannelDuplexHandler {
    package typealias InboundIn = Channel
    package typealias InboundOut = Channel
    package typealias OutboundIn = Never
    package typealias OutboundOut = Never

    /// Pause before it is looked again.
    private static let pause = TimeAmount.milliseconds(100)

    private var waiting: Scheduled<Void>?
    private var hasFailed = false

    private init() {}

    /// - Parameter server: The channel that listens.
    package static func install(on server: any Channel) async {
        // One that is closing needs none.
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
