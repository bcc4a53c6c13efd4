import RTMP

/// Pulls a stream over RTMP or RTMPS from servers that want a user name, one FLV tag per event.
///
/// Uses `rtmp2src`; docs/adr/0001-rtmp-source.md has the measurements.
public final class RTMPPull: SourcePull {
    private let pull: FLVElementPull

    /// Begins to connect and returns at once; a connection that cannot be made ends with `.ended`.
    /// - Parameters:
    ///   - url: `rtmp://` or `rtmps://` host, application and stream.
    ///   - limits: Addresses that the connection may go to; `nil` = any.
    ///   - connectTimeout: Limit for each step of connecting, in whole seconds, at least 1.
    ///   - idleTimeout: Silence after which the connection ends, in whole seconds; 0 = never. Also the longest wait for
    ///     a publisher.
    static func open(
        _ url: String, limits: Destination.Limits? = nil, connectTimeout: Int = 5, idleTimeout: Int = 15,
        onEvent: @escaping @Sendable (PullEvent) -> Void
    ) -> any SourcePull {
        let pull = FLVElementPull(
            "rtmp2src",
            properties: [
                ("location", url), ("timeout", "\(max(1, connectTimeout))"),
                ("idle-timeout", "\(max(0, idleTimeout))"),
            ], url: url, limits: limits, onEvent: onEvent)
        pull.start()
        return RTMPPull(pull)
    }

    private init(_ pull: FLVElementPull) { self.pull = pull }

    public func stop() { pull.stop() }
    public func close() async { await pull.close() }
}
