import HTTPTypes
import RoomService
import TextFormats

extension WebRTCClient {
    /// Creates the client of a request.
    ///
    /// It is local only if both ends of the connection say so: its own address is private, and so is the host that it
    /// names. The second keeps out clients of a proxy on this machine or next to it, whose addresses are the proxy's.
    ///
    /// - Parameter address: IP address of the other end of the connection.
    init(_ request: HTTPRequest, address: String) {
        let isPrivate = InternetAddress(text: address).map { !$0.isPublic } ?? false
        let isPassedOn = Self.proxyHeaders.contains { request.headerFields[$0] != nil }
        self.init(
            address: address, isLocal: isPrivate && !isPassedOn && Self.isPrivate(host: request.authority ?? ""))
    }

    /// Headers that proxies add.
    private static let proxyHeaders = [
        "Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP",
    ].compactMap { HTTPField.Name($0) }

    /// Domains that exist in local networks only: RFC 6761, RFC 6762, RFC 8375, and `internal` of ICANN.
    private static let privateDomains = [["localhost"], ["local"], ["internal"], ["home", "arpa"]]

    /// Returns whether the host is a private address, or a name that only local networks know: one without a domain,
    /// or one of a private domain.
    private static func isPrivate(host authority: String) -> Bool {
        var host = BrowserGuard.host(of: authority)
        if host.first == "[", host.last == "]" { host = host.dropFirst().dropLast() }
        if let address = InternetAddress(text: String(host)) { return !address.isPublic }
        let labels = host.lowercased().split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        guard !labels.contains("") else { return false }
        return labels.count == 1 || privateDomains.contains { Array(labels.suffix($0.count)) == $0 }
    }
}
