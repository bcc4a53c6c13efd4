/// The address to which a server's request to reconnect leads.
extension RTMPAddress {
    /// The reason why a client does not follow a request. Contains no part of the URL.
    package struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String

        init(_ description: String) { self.description = description }
    }

    /// Returns the address of the same stream at the server that a request names.
    ///
    /// The caller has to check whether the host's addresses are allowed (`Destination`).
    ///
    /// - Throws: `Refusal` if the reference is not valid, has another scheme than `rtmp` or `rtmps`, names a user or an
    ///   address without application, or leads from TLS to a connection without it.
    package func following(_ target: ReconnectRequest.Target) throws(Refusal) -> RTMPAddress {
        let reference: String
        switch target {
        case .same: return self
        case .invalid(let fault): throw Refusal(fault)
        case .reference(let text): reference = text
        }
        guard reference.utf8.count <= Self.longest, reference.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw Refusal("its tcUrl contains more than printable ASCII without spaces, or is too long")
        }
        guard !reference.contains("#") else { throw Refusal("its tcUrl has a fragment") }
        let url = try resolve(reference)
        let next: RTMPAddress
        do throws(RTMPError) { next = try RTMPAddress(connectURL: url, stream: stream) } catch {
            guard case .badURL(let fault) = error else { throw Refusal("its tcUrl is not valid") }
            throw Refusal("its tcUrl is not valid: \(fault)")
        }
        guard next.isSecure || !isSecure else { throw Refusal("its tcUrl leads from rtmps to rtmp") }
        return next
    }

    /// Returns the URL of a reference (RFC 3986, §5.2.2), whose base is `connectURL`.
    private func resolve(_ reference: String) throws(Refusal) -> String {
        let head = reference.prefix { !":/?".contains($0) }
        if reference.dropFirst(head.count).first == ":" {
            guard reference.dropFirst(head.count).hasPrefix("://") else { throw Refusal("its tcUrl is not valid") }
            return reference
        }
        let scheme = isSecure ? "rtmps" : "rtmp"
        if reference.hasPrefix("//") { return "\(scheme):\(reference)" }
        let path = reference.prefix { $0 != "?" }
        let query = reference.dropFirst(path.count)
        let base = application.prefix { $0 != "?" }
        if path.isEmpty { return "\(server)/\(base)\(query)" }
        var parents: Substring = ""
        if !path.hasPrefix("/"), let slash = base.lastIndex(of: "/") { parents = base[...slash] }
        return "\(server)/\(Self.withoutDots("\(parents)\(path)"))\(query)"
    }

    /// Returns a path without its segments `.` and `..` (RFC 3986, §5.2.4), and without slashes in front.
    private static func withoutDots(_ path: String) -> String {
        var kept: [Substring] = []
        for segment in path.split(separator: "/") {
            switch segment {
            case ".": break
            case "..": _ = kept.popLast()
            default: kept.append(segment)
            }
        }
        return kept.joined(separator: "/")
    }
}
