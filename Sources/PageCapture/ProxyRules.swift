import TextFormats

/// The permitted destinations of a page's requests: to public addresses, and to those of local networks that the
/// operator has listed. Pure.
struct ProxyRules: Sendable {
    var reach: Reach

    /// Schemes that a page's request can have. A tunnel request does not state its scheme.
    private static let schemes = ["https", "http"]

    /// Returns the first address to which the request may be sent.
    ///
    /// - Parameter addresses: The addresses of the host. The connection must go to the returned address.
    func address(of request: ProxyRequest, among addresses: [InternetAddress]) -> InternetAddress? {
        let schemes = request.isTunnel ? Self.schemes : ["http"]
        return addresses.first { address in
            schemes.contains { scheme in
                reach.allows(address, of: Reach.Target(scheme: scheme, host: request.host, port: request.port))
            }
        }
    }
}
