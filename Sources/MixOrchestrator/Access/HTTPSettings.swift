import HummingbirdCore
import NIOCore

/// What one client may take of the service, as configured.
struct HTTPSettings: Hashable, Sendable {
    /// More wait until one ends, viewers' included.
    var maxConnections = 16_384
    /// In seconds: for a connection on which nothing is asked, and for the head of a request to come.
    var idleTimeout = 60
    /// In seconds, from the head of a request to the end of its body.
    var requestTimeout = 30
    /// Of one token, or of one address where there are no tokens, per second; 0 = no limit.
    var requestRate = 20_000
    var eventRate = 50_000
    /// Of requests without a good token from one address, which may be a proxy's, per second; 0 = no limit.
    var failureRate = 20

    init() {}

    init(_ values: ConfigurationValues) throws(StartupError) {
        maxConnections = try values.integer("http.maxConnections", in: 1...1_000_000) ?? maxConnections
        idleTimeout = try values.integer("http.idleTimeout", in: 1...86_400) ?? idleTimeout
        requestTimeout = try values.integer("http.requestTimeout", in: 1...3600) ?? requestTimeout
        requestRate = try values.integer("http.rate.requests", in: 0...10_000_000) ?? requestRate
        eventRate = try values.integer("http.rate.events", in: 0...10_000_000) ?? eventRate
        failureRate = try values.integer("http.rate.failures", in: 0...10_000_000) ?? failureRate
    }

    /// An HTTP/1.1 server within these limits. Requests of a connection are answered one after another; of those that
    /// are sent ahead ten parts are read at most.
    var server: HTTPServerBuilder {
        let limits = ConnectionGuard.Limits(request: .seconds(Int64(requestTimeout)))
        return .http1(
            configuration: HTTP1Channel.Configuration(
                additionalChannelHandlers: [ConnectionGuard(limits)], idleTimeout: .seconds(Int64(idleTimeout)),
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: HeadLimit.bytes, maxHeaderListSize: HeadLimit.bytes, maxHeaderFieldCount: 100)))
    }
}
