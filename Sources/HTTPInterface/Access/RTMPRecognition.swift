import EncodedMedia
import Logging
import NIOCore
import Synchronization

/// Recognises an RTMP connection to the HTTP port, closes it, and logs the port for RTMP: encoders show only a lost
/// connection.
///
/// An RTMP client begins with its version, the byte 3 (RTMP 1.0, §5.2.2), which no HTTP request begins with. The
/// handler examines the first byte of a connection and then leaves the pipeline.
///
/// Lives on the connection's event loop.
final class RTMPRecognition: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// State that all connections of a service share.
    final class Notices: Sendable {
        fileprivate let limit = Mutex(LogLimit())
        fileprivate let logger: Logger

        init(logger: Logger) { self.logger = logger }
    }

    private let notices: Notices

    init(_ notices: Notices) { self.notices = notices }

    private static let version: UInt8 = 3

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard unwrapInboundIn(data).readableBytesView.first == Self.version else {
            context.fireChannelRead(data)
            return context.pipeline.syncOperations.removeHandler(self, promise: nil)
        }
        if notices.limit.withLock({ $0.permitsLine(at: MonotonicClock.now()) }) {
            notices.logger.warning(
                """
                RTMP arrived at the HTTP port: let encoders publish to the address of ingest.rtmp.listen (docs/ingest.md), or \
                to a media server that reports to this service (docs/integrations/obs.md)
                """, metadata: ["address": "\(context.remoteAddress?.ipAddress ?? "unknown")"])
        }
        context.close(promise: nil)
    }
}
