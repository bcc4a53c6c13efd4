/// Pulls an FLV stream over HTTP or HTTPS, in pieces as they arrive.
public final class HTTPPull: SourcePull {
    private let pull: FLVElementPull

    /// Begins to connect and returns at once; a connection that cannot be made ends with `.ended`.
    /// - Parameters:
    ///   - url: `http://` or `https://`.
    ///   - timeout: For the connection and for silence on it, in whole seconds.
    public static func open(
        _ url: String, timeout: Int = 15,
        onEvent: @escaping @Sendable (PullEvent) -> Void
    ) -> any SourcePull {
        let pull = FLVElementPull(
            "souphttpsrc is-live=true retries=0",
            properties: [("location", url), ("timeout", "\(max(1, timeout))")], url: url, onEvent: onEvent)
        pull.start()
        return HTTPPull(pull)
    }

    private init(_ pull: FLVElementPull) { self.pull = pull }

    public func stop() { pull.stop() }
    public func close() async { await pull.close() }
}
