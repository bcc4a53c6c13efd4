import MixModel
import TextFormats

/// A URL of a media stream, parsed strictly: no other parser interprets a URL that this type accepts differently.
public struct StreamURL: Hashable, Sendable {
    /// A scheme that a URL or an entry of an allow-list may have: one that can be pulled, or is used elsewhere.
    public struct Scheme: RawRepresentable, Hashable, Sendable, CaseIterable {
        /// Name in lower case, without `://`.
        public let rawValue: String

        /// Returns `nil` for a scheme that is not in `allCases`. Names are in lower case.
        public init?(rawValue: String) {
            guard let known = Self.allCases.first(where: { $0.rawValue.utf8.elementsEqual(rawValue.utf8) }) else {
                return nil
            }
            self = known
        }

        private init(known: String) { rawValue = known }

        public static let rtmp = Scheme(known: "rtmp")
        public static let rtmps = Scheme(known: "rtmps")
        public static let srt = Scheme(known: "srt")
        public static let whip = Scheme(known: "whip")
        public static let whips = Scheme(known: "whips")
        public static let file = Scheme(known: "file")
        public static let http = Scheme(known: "http")
        public static let https = Scheme(known: "https")

        /// Every scheme once, those that can be pulled first.
        public static let allCases: [Scheme] = {
            // Schemes of destinations, images and endpoints.
            let others: [Scheme] = [.rtmp, .rtmps, .srt, .whip, .whips, .http, .https]
            return (PullSchemes.all.map(Scheme.init(known:)) + others).reduce(into: []) {
                if !$0.contains($1) { $0.append($1) }
            }
        }()
    }

    public let scheme: Scheme
    /// Host in lower case; IPv6 addresses without brackets.
    public let host: String
    public let port: Int?
    /// Path with its leading `/`; empty when there is none.
    public let path: String
    /// Query without `?`.
    public let query: String?
    /// The URL as given.
    public let text: String

    /// The part before the host, percent-encoded as given; `nil` if there is none. Secret.
    package var userInformation: Substring? {
        guard let start = text.firstRange(of: "://")?.upperBound else { return nil }
        let authority = text[start...].prefix { !"/?#".contains($0) }
        return authority.lastIndex(of: "@").map { authority[..<$0] }
    }

    static let longest = 2048
    /// Schemes whose URLs may contain a bearer token before the host.
    private static let withToken: [Scheme] = [.whip, .whips]
    /// Whether each byte value is allowed. librtmp would read options after a space; the other forbidden bytes are
    /// those of RFC 3986.
    private static let isAllowed = (UInt8.min...UInt8.max).map {
        (0x21...0x7E).contains($0) && !#""<>\^`{|}"#.utf8.contains($0)
    }

    /// Creates a URL by parsing text.
    ///
    /// - Throws: `Malformed`, whose text contains no part of the URL after the host.
    public init(_ text: String) throws(Malformed) {
        guard text.utf8.count <= Self.longest else { throw Malformed(expected: "at most \(Self.longest) bytes") }
        guard text.utf8.allSatisfy({ Self.isAllowed[Int($0)] }) else {
            throw Malformed(expected: "printable ASCII without spaces, everything else percent-encoded")
        }
        // The text is ASCII here, so bytes are characters.
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), text[colon...].hasPrefix("://"),
            let scheme = Scheme(rawValue: text[..<colon].lowercased())
        else {
            let names = Scheme.allCases.map { $0.rawValue + "://" }.joined(separator: ", ")
            throw Malformed(expected: "a URL that starts with one of \(names)")
        }
        let rest = text[text.utf8.index(colon, offsetBy: 3)...]
        let end = rest.utf8.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
        let authority = rest[..<end]
        (host, port) = try Self.hostAndPort(Self.withoutCredentials(authority, scheme))
        var tail = rest[end...]
        guard !tail.utf8.contains(UInt8(ascii: "#")) else { throw Malformed(expected: "no fragment (#…)") }
        if let mark = tail.utf8.firstIndex(of: UInt8(ascii: "?")) {
            query = String(tail[tail.utf8.index(after: mark)...])
            tail = tail[..<mark]
        } else {
            query = nil
        }
        self.scheme = scheme
        path = String(tail)
        self.text = text
    }

    /// The URL as given, but with its host in lower case, as in `host`.
    ///
    /// An HTTP client that is told the address of a host compares names byte by byte and resolves any other itself.
    package var textWithPlainHost: String {
        guard let start = text.firstRange(of: "://")?.upperBound else { return text }
        let end = text[start...].firstIndex { "/?#".contains($0) } ?? text.endIndex
        let place = text[start..<end].lastIndex(of: "@") ?? start
        return "\(text[..<place])\(text[place..<end].lowercased())\(text[end...])"
    }

    private init(_ url: StreamURL, host: String) {
        (scheme, port, path, query, text) = (url.scheme, url.port, url.path, url.query, url.text)
        self.host = host
    }

    /// Returns the URL with an address in place of the host; `text` is unchanged.
    func at(_ address: InternetAddress) -> StreamURL { StreamURL(self, host: "\(address)") }

    public struct Malformed: Error, Hashable, Sendable {
        public let expected: String
    }

    /// Returns the part after a user and a password, or after a token, where the scheme allows them.
    private static func withoutCredentials(_ authority: Substring, _ scheme: Scheme) throws(Malformed) -> Substring {
        guard let sign = authority.utf8.firstIndex(of: UInt8(ascii: "@")) else { return authority }
        if withToken.contains(scheme) {
            let token = authority.utf8[..<sign]
            guard !token.isEmpty, isPercentEncoded(token) else {
                throw Malformed(expected: "a token before the host, with everything special percent-encoded")
            }
            return authority[authority.utf8.index(after: sign)...]
        }
        guard PullSchemes.withCredentials.contains(scheme.rawValue) else {
            let names = PullSchemes.withCredentials.map { $0 + "://" }.joined(separator: ", ")
            throw Malformed(expected: "no user name or password before the host, except with \(names)")
        }
        // Another @ or a second colon would be parsed differently by other software; a bare % is not decoded by all.
        let parts = authority.utf8[..<sign].split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, parts.allSatisfy(isPercentEncoded) else {
            throw Malformed(expected: "user:password before the host, with everything special percent-encoded")
        }
        return authority[authority.utf8.index(after: sign)...]
    }

    /// Returns whether the bytes may appear there unchanged or percent-encoded (RFC 3986 §3.2.1), and are printable ASCII.
    private static func isPercentEncoded(_ text: Substring.UTF8View) -> Bool {
        var rest = Array(text)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst().flatMap(Hexadecimal.value),
                    let low = rest.popFirst().flatMap(Hexadecimal.value), 0x20...0x7E ~= high << 4 | low
                else { return false }
            } else if !isDigit(byte), !(UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20),
                !"-._~!$&'()*+,;=".utf8.contains(byte)
            {
                return false
            }
        }
        return true
    }

    private static func hostAndPort(_ authority: Substring) throws(Malformed) -> (String, Int?) {
        var host = authority.utf8
        var port: Substring.UTF8View?
        if host.first == UInt8(ascii: "[") {
            guard let close = host.firstIndex(of: UInt8(ascii: "]")) else {
                throw Malformed(expected: "a ] after the address")
            }
            let behind = host[host.index(after: close)...]
            host = host[host.index(after: host.startIndex)..<close]
            guard behind.isEmpty || behind.first == UInt8(ascii: ":") else {
                throw Malformed(expected: "a port after ]")
            }
            port = behind.isEmpty ? nil : behind.dropFirst()
            guard host.contains(UInt8(ascii: ":")),
                host.allSatisfy({ Hexadecimal.value($0) != nil || ":.".utf8.contains($0) })
            else {
                throw Malformed(expected: "an IPv6 address in brackets")
            }
        } else {
            if let colon = host.firstIndex(of: UInt8(ascii: ":")) {
                port = host[host.index(after: colon)...]
                host = host[..<colon]
            }
            guard !host.isEmpty, host.count <= 253,
                host.allSatisfy({ byte in
                    UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || isDigit(byte) || ".-_".utf8.contains(byte)
                })
            else { throw Malformed(expected: "a host name or address") }
            // Text that a resolver could take for a number in disguise (0x7f.1, 2130706433) is not a name.
            guard !looksNumeric(host) || isIPv4(host) else {
                throw Malformed(expected: "an IPv4 address as a.b.c.d")
            }
        }
        let name = Substring(host).lowercased()
        guard let port else { return (name, nil) }
        guard port.allSatisfy(isDigit), let number = Int(Substring(port)), 1...65535 ~= number else {
            throw Malformed(expected: "a port, 1…65535")
        }
        return (name, number)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    /// Returns whether the last label, ignoring trailing dots, looks like a number.
    private static func looksNumeric(_ host: Substring.UTF8View) -> Bool {
        var end = host.endIndex
        while end > host.startIndex, host[host.index(before: end)] == UInt8(ascii: ".") {
            end = host.index(before: end)
        }
        guard end > host.startIndex else { return false }
        let label =
            host[..<end].lastIndex(of: UInt8(ascii: ".")).map { host[host.index(after: $0)..<end] } ?? host[..<end]
        return label.allSatisfy(isDigit)
            || (label.first == UInt8(ascii: "0") && label.dropFirst().first.map { $0 | 0x20 } == UInt8(ascii: "x"))
    }

    static func isIPv4(_ host: String) -> Bool { isIPv4(Substring(host).utf8) }

    /// Returns whether the host consists of four numbers, 0…255, without redundant zeros.
    private static func isIPv4(_ host: Substring.UTF8View) -> Bool {
        var parts = 1
        var digits = 0
        var value = 0
        for byte in host {
            if byte == UInt8(ascii: ".") {
                guard digits > 0 else { return false }
                (parts, digits, value) = (parts + 1, 0, 0)
            } else {
                guard isDigit(byte), digits == 0 || value > 0 else { return false }
                value = value * 10 + Int(byte - UInt8(ascii: "0"))
                digits += 1
                guard value <= 255 else { return false }
            }
        }
        return parts == 4 && digits > 0
    }

    /// Whether the host is an address (or a name that always means this machine) rather than a name to look up.
    var isAddress: Bool { host.contains(":") || Self.isIPv4(host) || isLoopback }

    /// Whether the host is in 127.0.0.0/8, `::1` or `localhost`.
    public var isLoopback: Bool {
        host == "localhost" || host == "::1" || (host.hasPrefix("127.") && Self.isIPv4(host))
    }

    /// The scheme of text that may not be a URL; `nil` if it has no known one.
    static func scheme(of text: String) -> Scheme? {
        text.firstRange(of: "://").flatMap { Scheme(rawValue: text[..<$0.lowerBound].lowercased()) }
    }

    /// The URL without parts that may be secret, see `URLRedaction`.
    public var redacted: String { URLRedaction.shown(text) }

    /// Returns the redacted form of text that may not even be a URL.
    public static func redacted(_ text: String) -> String { URLRedaction.shown(text) }
}
