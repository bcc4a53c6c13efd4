import RTMP
import TextFormats

/// Pulls an FLV stream over HTTP or HTTPS, in pieces as they arrive. Follows redirects, each of which is checked like
/// the first URL (`HTTPRedirect`); the element itself follows none.
package enum HTTPPull: PullProtocol {
    package static let name = "HTTP-FLV"
    package static let summary = "FLV with H.264 and AAC; other codecs as with RTMP. Up to 5 redirects are followed"
    package static let schemes = [PullScheme("http", port: 80), PullScheme("https", port: 443)]
    package static let elements = [PullElement("souphttpsrc", package: "gstreamer1.0-plugins-good")]
    /// The element has one limit, for connecting and for silence: `connectTimeout`.
    package static let options = PullOptions(connectTimeout: 15)

    package static func open(
        _ request: PullRequest, onEvent: @escaping @Sendable (PullEvent) -> Void
    ) -> any SourcePull {
        FLVElementPull.open(
            "souphttpsrc is-live=true retries=0 automatic-redirect=false", request, of: self,
            properties: { [("location", $0.url), ("timeout", "\($0.options.connectTimeout)")] },
            pinned: { pinned($0.url, to: $1) }, redirect: { await HTTPRedirect.target(of: $0.url, $0) },
            onEvent: onEvent)
    }

    /// Returns properties that replace the URL's host by a checked address and name the host in a header instead.
    ///
    /// Empty for HTTPS: the certificate is for a name, and protects against servers without a certificate for it.
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
}
