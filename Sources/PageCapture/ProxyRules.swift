import MixModel
import TextFormats

/// The permitted destinations of a page's requests: public addresses, those of local networks that the operator has
/// listed, and of both only those of listed hosts if the operator wants that. Pure.
struct ProxyRules: Sendable {
    var reach: Reach
    /// The only hosts to which requests may be sent; `nil` = all.
    var hosts: HostList?

    /// The reason for which a request is refused. The raw value completes "the request is refused: …" in a log.
    enum Refusal: String, Sendable {
        case address = "it is in a local network and not in sources.allow"
        case host = "it is not in sources.allow, and pages.requests: allowed admits nothing else"
    }

    /// Schemes that a page's request can have. A tunnel request does not state its scheme.
    private static let schemes = ["https", "http"]

    /// Returns whether the request may be sent to its host, as far as the name can tell. If not, the name is not even looked up:
    /// a lookup reaches servers that the owner of the name has chosen, and can carry what the page wants to tell them.
    func allowsHost(of request: ProxyRequest) -> Bool { targets(of: request).contains { allowsHost($0) } }

    /// Returns the first address to which the request may be sent.
    ///
    /// - Parameter addresses: The addresses of the host. The connection must go to the returned address.
    func address(of request: ProxyRequest, among addresses: [InternetAddress]) -> InternetAddress? {
        let targets = targets(of: request)
        return addresses.first { address in
            targets.contains { allowsHost($0) && reach.allows(address, of: $0) }
        }
    }

    private func allowsHost(_ target: Reach.Target) -> Bool { hosts?.allows(target) ?? true }

    /// Returns the destinations that the request can have.
    private func targets(of request: ProxyRequest) -> [Reach.Target] {
        let schemes = request.isTunnel ? Self.schemes : ["http"]
        return schemes.map { Reach.Target(scheme: $0, host: request.host, port: request.port) }
    }
}

extension ProxyRules {
    /// The rules of a page.
    init(_ job: PageJob) { self.init(reach: job.reach, hosts: job.hosts) }
}
