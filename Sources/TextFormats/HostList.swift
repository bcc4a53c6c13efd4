/// The hosts to which requests may be sent, as an operator has listed them.
///
/// It concerns hosts as URLs spell them. The addresses to which they resolve are the concern of `Reach`.
public struct HostList: Hashable, Codable, Sendable {
    public struct Entry: Hashable, Codable, Sendable {
        /// URL scheme in lower case; `nil` means any.
        public var scheme: String?
        /// Name or address in lower case, IPv6 addresses without brackets; `*` stands for any characters.
        public var host: String
        /// Port; `nil` means any.
        public var port: Int?

        public init(scheme: String? = nil, host: String, port: Int? = nil) {
            self.scheme = scheme
            self.host = host
            self.port = port
        }

        /// Whether the host is a pattern of addresses, such as `10.0.*`.
        private var isAddressPattern: Bool {
            host.utf8.contains(where: HostList.isDigit)
                && host.utf8.allSatisfy { HostList.isDigit($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "*") }
        }

        fileprivate func allows(_ target: Reach.Target, isAddress: Bool) -> Bool {
            guard scheme ?? target.scheme == target.scheme, port ?? target.port == target.port else { return false }
            if host.hasSameUTF8(as: target.host) { return true }
            // A wildcard for names matches no address.
            return (!isAddress || isAddressPattern) && Wildcard.matches(host, target.host)
        }
    }

    public var entries: [Entry]

    public init(entries: [Entry]) { self.entries = entries }

    /// Returns whether an entry allows requests to this host and port.
    public func allows(_ target: Reach.Target) -> Bool {
        let target = Reach.Target(scheme: target.scheme, host: target.host.lowercased(), port: target.port)
        let isAddress = Self.isAddress(target.host)
        return entries.contains { $0.allows(target, isAddress: isAddress) }
    }

    /// Returns whether a resolver could take the host for an address (`127.1`, `2130706433`, `0x7f.1`), or always resolves it to
    /// this machine. The last label of a public name never begins with a digit.
    private static func isAddress(_ host: String) -> Bool {
        if host == "localhost" || host.utf8.contains(UInt8(ascii: ":")) { return true }
        guard let first = host.split(separator: ".").last?.utf8.first else { return false }
        return isDigit(first)
    }

    fileprivate static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }
}
