import TextFormats

/// The places from which streams may be pulled, or to which they may be pushed, as entries `scheme://host[:port]` with
/// `*` as wildcard.
///
/// - An entry without a port allows every port. `*` in a host stands for any characters, including dots: `*.example` is
///   every host below `example`.
/// - Addresses and `localhost` are matched only by an entry that spells out an address (`10.0.*`, `127.0.0.1`), never
///   by a wildcard for names: `*` does not open the local network.
/// - An empty list allows what `whenEmpty` specifies.
public struct AllowList: Hashable, Sendable {
    public let entries: [Entry]
    public let whenEmpty: WhenEmpty

    /// The meaning of a list without entries.
    public enum WhenEmpty: Hashable, Sendable {
        /// Loopback addresses are allowed, for a service that only serves this machine.
        case loopback
        /// No address is allowed, for a service with tenants, who have no claim to its loopback.
        case nothing
    }

    public struct Entry: Hashable, Sendable {
        let text: String
        let scheme: String
        let host: String
        let port: String?

        init?(_ text: String) {
            // In ASCII, bytes are characters.
            guard text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }), let separator = text.firstRange(of: "://") else {
                return nil
            }
            let scheme = text[..<separator.lowerBound].lowercased()
            guard scheme == "*" || StreamURL.Scheme(rawValue: scheme) != nil else { return nil }
            var host = text[separator.upperBound...].lowercased()
            var port: String?
            if host.hasPrefix("["), let close = host.firstIndex(of: "]") {
                let behind = host[host.index(after: close)...]
                guard behind.isEmpty || behind.hasPrefix(":") else { return nil }
                port = behind.isEmpty ? nil : String(behind.dropFirst())
                host = String(host[..<close].dropFirst())
            } else if let colon = host.lastIndex(of: ":") {
                port = String(host[host.index(after: colon)...])
                host = String(host[..<colon])
            }
            guard !host.isEmpty, !host.contains(where: { "/?#@ ".contains($0) }) else { return nil }
            if let port, port != "*" {
                guard let number = Int(port), 1...65535 ~= number else { return nil }
            }
            self.text = text
            self.scheme = scheme
            self.host = host
            self.port = port == "*" ? nil : port
        }

        func allows(_ url: StreamURL) -> Bool {
            guard scheme == "*" || scheme == url.scheme.rawValue else { return false }
            if let port, url.port.map(String.init) != port { return false }
            guard !url.isAddress || host == url.host || isAddressPattern else { return false }
            return Wildcard.matches(host, url.host)
        }

        /// Whether the host is a pattern such as `10.0.*`. It must contain digits, so that no wildcard for names can
        /// match an address.
        private var isAddressPattern: Bool {
            host.contains(where: \.isNumber) && host.allSatisfy { $0.isNumber || $0 == "." || $0 == "*" }
        }

        /// Whether the entry stands for addresses, rather than for a name to resolve.
        var spellsAddress: Bool { isAddressPattern || host.contains(":") || host == "localhost" }
    }

    /// Creates a list from the text of its entries.
    ///
    /// - Throws: `InputError` about the first entry that cannot be parsed.
    public init(_ entries: [String], whenEmpty: WhenEmpty = .loopback) throws(InputError) {
        var read: [Entry] = []
        for text in entries {
            guard let entry = Entry(text) else {
                let schemes = StreamURL.Scheme.allCases.map(\.rawValue).joined(separator: ", ")
                throw InputError(
                    .invalidField, field: "allow", found: "\"\(text)\"",
                    expected: "scheme://host[:port] with * as wildcard, scheme one of \(schemes)")
            }
            read.append(entry)
        }
        self.entries = read
        self.whenEmpty = whenEmpty
    }

    /// A list that allows loopback addresses only.
    public static let loopbackOnly = AllowList(whenEmpty: .loopback)
    /// A list that allows no address.
    public static let nothing = AllowList(whenEmpty: .nothing)

    private init(whenEmpty: WhenEmpty) {
        entries = []
        self.whenEmpty = whenEmpty
    }

    /// Whether no URL is allowed.
    public var allowsNothing: Bool { entries.isEmpty && whenEmpty == .nothing }

    public func allows(_ url: StreamURL) -> Bool {
        guard entries.isEmpty else { return entries.contains { $0.allows(url) } }
        return whenEmpty == .loopback && url.isLoopback
    }

    /// Parses a URL and checks that it is allowed.
    ///
    /// - Parameters:
    ///   - schemes: Schemes that are possible in this place.
    ///   - field: JSON path, for the error.
    ///   - setting: The configuration key that holds this list, for the error.
    /// - Throws: `InputError` of code `invalidField` or `refusedURL`; its `found` is redacted.
    public func check(
        _ text: String, schemes: Set<StreamURL.Scheme>, field: String, setting: String
    ) throws(InputError) -> StreamURL {
        // Lists all schemes, whatever is wrong with the given one. Most URLs need no list.
        var expectedScheme: String {
            let names = StreamURL.Scheme.allCases.filter { schemes.contains($0) }.map { $0.rawValue + "://" }
            return "a URL that starts with one of " + names.joined(separator: ", ")
        }
        let url: StreamURL
        do {
            url = try StreamURL(text)
        } catch {
            let isUnknown =
                !(StreamURL.scheme(of: text).map { schemes.contains($0) } ?? false)
                && text.utf8.count <= StreamURL.longest
            throw InputError(
                .invalidField, field: field,
                expected: isUnknown ? expectedScheme : error.expected)
        }
        guard schemes.contains(url.scheme) else {
            throw InputError(.refusedURL, field: field, found: url.redacted, expected: expectedScheme)
        }
        guard allows(url) else {
            let allowed =
                if allowsNothing {
                    "nothing"
                } else if entries.isEmpty {
                    "loopback addresses"
                } else {
                    entries.map(\.text).joined(separator: ", ")
                }
            throw InputError(
                .refusedURL, field: field, found: url.redacted,
                expected: "an address that \(setting) allows (now: \(allowed)); add scheme://host[:port] there")
        }
        return url
    }
}
