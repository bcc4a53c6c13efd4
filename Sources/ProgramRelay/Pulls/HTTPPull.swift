import MixModel
import RTMP
import TextFormats

/// Pulls an FLV stream over HTTP or HTTPS, in pieces as they arrive. Does not follow redirects, because their targets
/// are not checked.
public final class HTTPPull: SourcePull {
    private let pull: FLVElementPull

    /// Begins to connect and returns at once; a connection that cannot be made ends with `.ended`.
    /// - Parameters:
    ///   - url: `http://` or `https://`.
    ///   - limits: Addresses that the connection may go to; `nil` = any.
    ///   - timeout: Limit for connecting and for silence on the connection, in whole seconds, at least 1.
    static func open(
        _ url: String, limits: Destination.Limits? = nil, timeout: Int = 15,
        onEvent: @escaping @Sendable (PullEvent) -> Void
    ) -> any SourcePull {
        let pull = FLVElementPull(
            "souphttpsrc is-live=true retries=0 automatic-redirect=false",
            properties: [("location", url), ("timeout", "\(max(1, timeout))")], url: url, limits: limits,
            pinned: { pinned(url, to: $0) }, onEvent: onEvent)
        pull.start()
        return HTTPPull(pull)
    }

    /// Returns properties that replace the URL's host by a checked address and name the host in a header instead.
    ///
    /// Empty for HTTPS: a certificate is for a name, and protects against servers that have none for it.
    static func pinned(_ url: String, to address: InternetAddress) -> [(String, String)] {
        let scheme = "http://"
        guard url.prefix(scheme.count).lowercased() == scheme else { return [] }
        let rest = url.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let port = authority.wholeMatch(of: /.*(:[0-9]+)/).map { String($0.1) } ?? ""
        let host = "\(address)".contains(":") ? "[\(address)]" : "\(address)"
        return [
            ("location", scheme + host + port + rest.dropFirst(authority.count)),
            ("extra-headers", "headers,Host=(string)\"\(authority)\""),
        ]
    }

    private init(_ pull: FLVElementPull) { self.pull = pull }

    public func stop() { pull.stop() }
    public func close() async { await pull.close() }
}
