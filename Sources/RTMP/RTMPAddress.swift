/// The location of a stream: the parts of an `rtmp://` or `rtmps://` URL that a connection needs.
///
/// Application and stream stay as written, including percent-encoding and queries, as in other RTMP clients.
package struct RTMPAddress: Hashable, Sendable {
    package static let defaultPort: UInt16 = 1935
    /// Default port with TLS.
    package static let defaultSecurePort: UInt16 = 443
    /// Largest length of the whole URL in bytes.
    package static let longest = 8192

    /// Whether the connection uses TLS.
    package let isSecure: Bool
    /// Host name or address; IPv6 without brackets.
    package let host: String
    package let port: UInt16
    /// All path parts but the last: `live`, `live/instance`, `live?vhost=a`.
    package let application: String
    /// The last path part, with the query that follows it. Some servers know a stream by the query alone
    /// (`/live-bvc/?streamname=…&key=…`).
    package let stream: String
    /// Value of `tcUrl` in the connect command: without stream, user information and default port.
    package let connectURL: String

    /// Returns whether a URL contains a user name or password, which this client does not use.
    package static func hasCredentials(_ url: String) -> Bool { authority(of: url).contains("@") }

    /// Scheme, host and, if it is not the default, port: `rtmp://host:1936`.
    package var server: String { String(connectURL.dropLast(application.utf8.count + 1)) }

    /// The parts of a URL in front of its path, and the path without slashes in front.
    private struct Place {
        var isSecure: Bool
        var host: String
        var port: UInt16
        var path: Substring
    }

    /// - Parameter url: The last `/` before the query separates application and stream. If there is only one path part
    ///   before the query, the query belongs to the application and the stream follows it, as in `live?vhost=a/stream`.
    package init(_ url: String) throws(RTMPError) {
        let place = try Self.place(of: url)
        let path = place.path
        let query = path.firstIndex(of: "?") ?? path.endIndex
        guard let slash = path[..<query].lastIndex(of: "/") ?? path.lastIndex(of: "/") else {
            throw .badURL("the URL has no stream name")
        }
        let stream = String(path[path.index(after: slash)...])
        guard !stream.isEmpty, stream != "?" else { throw .badURL("the URL has no stream name") }
        self.init(place, application: String(path[..<slash]), stream: stream)
    }

    /// Creates the address of a stream at the URL of a connection.
    ///
    /// - Parameter url: A value of `tcUrl`: everything behind the host is the application.
    init(connectURL url: String, stream: String) throws(RTMPError) {
        let place = try Self.place(of: url)
        var application = place.path
        while !application.contains("?"), application.hasSuffix("/") { application.removeLast() }
        guard application.contains(where: { $0 != "?" }) else { throw .badURL("the URL has no application") }
        guard url.utf8.count + stream.utf8.count < Self.longest else {
            throw .badURL("the URL is longer than \(Self.longest) bytes")
        }
        self.init(place, application: String(application), stream: stream)
    }

    private init(_ place: Place, application: String, stream: String) {
        isSecure = place.isSecure
        host = place.host
        port = place.port
        self.application = application
        self.stream = stream
        let name = place.host.contains(":") ? "[\(place.host)]" : place.host
        let defaultPort = place.isSecure ? Self.defaultSecurePort : Self.defaultPort
        connectURL =
            "\(place.isSecure ? "rtmps" : "rtmp")://\(name)\(place.port == defaultPort ? "" : ":\(place.port)")"
            + "/\(application)"
    }

    private static func place(of url: String) throws(RTMPError) -> Place {
        guard url.utf8.count <= longest else { throw .badURL("the URL is longer than \(longest) bytes") }
        // Then every byte is a character: no combining mark can merge with a separator.
        guard url.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw .badURL("the URL contains more than printable ASCII without spaces")
        }
        let scheme = url.prefix { $0 != ":" }.lowercased()
        guard scheme == "rtmp" || scheme == "rtmps", url.dropFirst(scheme.count).hasPrefix("://") else {
            throw .badURL("the URL does not begin with rtmp:// or rtmps://")
        }
        let isSecure = scheme == "rtmps"
        let authority = Self.authority(of: url)
        guard !authority.contains("@") else { throw .badURL("the URL contains a user name") }
        let (host, port) = try split(
            authority: authority, defaultPort: isSecure ? Self.defaultSecurePort : Self.defaultPort)
        let path = url.dropFirst(scheme.count + 3 + authority.count).drop { $0 == "/" }
        return Place(isSecure: isSecure, host: host, port: port, path: path)
    }

    /// Returns host and port as written, with any user information in front.
    private static func authority(of url: String) -> Substring {
        guard let separator = url.firstRange(of: "://") else { return "" }
        return url[separator.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    }

    static func split(
        authority: Substring, defaultPort: UInt16 = RTMPAddress.defaultPort
    ) throws(RTMPError) -> (host: String, port: UInt16) {
        var host = authority
        var digits: Substring?
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            host = authority[authority.index(after: authority.startIndex)..<end]
            let rest = authority[authority.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { throw .badURL("the URL's host is not a valid address") }
            if !rest.isEmpty { digits = rest.dropFirst() }
        } else if let colon = authority.lastIndex(of: ":") {
            host = authority[..<colon]
            digits = authority[authority.index(after: colon)...]
        }
        guard !host.isEmpty, !host.contains("["), !host.contains("\0") else { throw .badURL("the URL has no host") }
        guard authority.hasPrefix("[") || !host.contains(":") else {
            throw .badURL("the URL's IPv6 address has no brackets")
        }
        guard let digits, !digits.isEmpty else { return (String(host), defaultPort) }
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits), port > 0 else {
            throw .badURL("the URL's port is not one of 1 to 65535")
        }
        return (String(host), port)
    }
}
