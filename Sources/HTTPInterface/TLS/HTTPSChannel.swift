import HummingbirdCore
import Logging
import NIOCore
import NIOSSL

/// A connection that begins with a TLS handshake, in front of HTTP/1.1.
///
/// Hummingbird's own TLS channel is created once with one certificate; this one uses the keeper's current certificate
/// for each connection.
struct HTTPSChannel: ServerChildChannel {
    let base: HTTP1Channel
    let certificate: CertificateKeeper

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: certificate.context))
        }.flatMap {
            base.setup(channel: channel, logger: logger)
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}
