import HTTPTypes

/// Keeps web pages out of a service without tokens.
///
/// A page open in a browser on this machine can send requests to a loopback address. By resolving its own name to a
/// loopback address (DNS rebinding), it can even read the answers.
enum BrowserGuard {
    /// - Parameter isUpgrade: Whether a WebSocket is requested. Pages can open WebSockets to any host and read from
    ///   them.
    /// - Throws: `HTTPProblem` of status 421 or 403.
    static func check(_ request: HTTPRequest, isUpgrade: Bool = false) throws(HTTPProblem) {
        try checkHost(request)
        guard isUpgrade || ![.get, .head, .options].contains(request.method) else { return }
        if let origin = request.headerFields[.origin], !isLoopback(host(ofOrigin: origin)) {
            throw foreign(
                "Origin", "\(origin.prefix(bytes: 100))",
                "no Origin, or a loopback one; or configure tokens under apps")
        }
        if let site = fetchSite.flatMap({ request.headerFields[$0] }),
            site.lowercased() == "cross-site"
        {
            throw foreign("Sec-Fetch-Site", site, "same-origin; or configure tokens under apps")
        }
    }

    /// Checks which host a request is meant for.
    ///
    /// - Throws: `HTTPProblem` of status 421.
    static func checkHost(_ request: HTTPRequest) throws(HTTPProblem) {
        if let authority = request.authority, !authority.isEmpty, !isLoopback(host(of: authority)) {
            throw HTTPProblem(
                .misdirectedRequest, "host-refused", "The request is meant for another host",
                detail:
                    "without tokens only requests to a loopback address are served, not to \(authority.prefix(bytes: 100))",
                field: "Host", expected: "localhost, 127.0.0.1 or [::1]; or configure tokens under apps")
        }
    }

    private static let fetchSite = HTTPField.Name("Sec-Fetch-Site")

    private static func foreign(_ field: String, _ found: String, _ expected: String) -> HTTPProblem {
        HTTPProblem(
            .forbidden, "origin-refused", "Requests from other origins are refused",
            detail: "\(field) is \(found)", field: field, expected: expected)
    }

    /// Returns the host of an origin, `scheme://host[:port]`. The origin `null` has no host.
    private static func host(ofOrigin origin: String) -> Substring {
        origin.firstRange(of: "://").map { host(of: String(origin[$0.upperBound...])) } ?? ""
    }

    /// Returns the host without the port, or an empty string if the authority is ambiguous.
    static func host(of authority: String) -> Substring {
        let text = authority.utf8
        let isBracketed = text.first == UInt8(ascii: "[")
        let close = isBracketed ? text.firstIndex(of: UInt8(ascii: "]")).map(text.index(after:)) : nil
        let end = close ?? text.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
        let port = text[end...]
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        let isPort = port.first == UInt8(ascii: ":") && port.dropFirst().allSatisfy(digits.contains)
        return port.isEmpty || isPort ? Substring(text[..<end]) : ""
    }

    /// Returns whether the host is `localhost` or a loopback address. `127.0.0.1.example` is a name, not an address.
    private static func isLoopback(_ host: Substring) -> Bool {
        if host == "127.0.0.1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let isAddress = parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
        return isAddress || host == "[::1]" || host.lowercased() == "localhost"
    }
}
