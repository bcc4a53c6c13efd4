import HummingbirdCore
import Logging
import NIOCore

/// Configured limits of one client's use of the service.
package struct HTTPSettings: Hashable, Sendable {
    /// Maximum number of connections, viewers included. Further clients wait until a connection ends.
    package var maxConnections = 16_384
    /// Maximum time without a request, and for the head of a request to arrive, in seconds.
    package var idleTimeout = 60
    /// Maximum time from the head of a request to the end of its body, in seconds.
    package var requestTimeout = 30
    /// Maximum requests per second of one token, or of one address if no tokens are configured. 0 means no limit.
    package var requestRate = 20_000
    package var eventRate = 50_000
    /// Maximum requests per second without a valid token from one address, which may be a proxy's. 0 means no limit.
    package var failureRate = 20

    /// Files of the certificate; `nil` means plain HTTP.
    package var tls: TLSFiles?

    package init() {}

    /// An HTTP/1.1 server with these limits, over TLS if there is a certificate.
    ///
    /// The server answers the requests of a connection one after another. Of pipelined requests, it reads at most ten
    /// parts ahead.
    package func server(
        certificate: CertificateKeeper?, sockets: WebSocketServer?, logger: Logger
    ) -> HTTPServerBuilder {
        let limits = ConnectionGuard.Limits(request: .seconds(Int64(requestTimeout)))
        let notices = RTMPRecognition.Notices(logger: logger)
        let configuration = HTTP1Channel.Configuration(
            additionalChannelHandlers: (sockets.map { [WebSocketUpgrade($0)] } ?? []) + [
                ConnectionGuard(limits, notices)
            ],
            idleTimeout: .seconds(Int64(idleTimeout)),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: HeadLimit.bytes, maxHeaderListSize: HeadLimit.bytes, maxHeaderFieldCount: 100))
        guard let certificate else { return .http1(configuration: configuration) }
        return HTTPServerBuilder { responder in
            HTTPSChannel(
                base: HTTP1Channel(responder: responder, configuration: configuration), certificate: certificate)
        }
    }
}
