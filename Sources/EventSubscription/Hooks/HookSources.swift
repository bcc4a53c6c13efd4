import TextFormats

/// The addresses from which a media server may call: addresses in which `*` stands for any characters, as in `10.0.*`.
///
/// An empty list allows loopback addresses.
package struct HookSources: Hashable, Sendable {
    private let entries: [String]

    package static let loopback = HookSources(unchecked: [])

    private init(unchecked entries: [String]) { self.entries = entries }

    /// - Throws: `InputError` about the first entry that is not an address.
    package init(_ entries: [String]) throws(InputError) {
        for (index, entry) in entries.enumerated() {
            guard !entry.isEmpty, entry.utf8.count <= 64, entry.utf8.allSatisfy(Self.isOfAddress) else {
                throw InputError(
                    .invalidField, field: "allow[\(index)]", found: JSONValue.string(entry).summary,
                    expected: "an IP address with * as wildcard, such as 10.0.0.7, 10.0.* or 2001:db8:*")
            }
        }
        self.entries = entries.map { $0.lowercased() }
    }

    /// Returns whether a caller may have this address. An IPv4 address mapped into IPv6 counts as IPv4.
    package func allows(_ peer: String) -> Bool {
        let peer = peer.lowercased()
        let address = peer.hasPrefix("::ffff:") && peer.contains(".") ? String(peer.dropFirst(7)) : peer
        guard entries.isEmpty else { return entries.contains { Wildcard.matches($0, address) } }
        return address == "::1" || address.hasPrefix("127.")
    }

    private static func isOfAddress(_ byte: UInt8) -> Bool {
        Hexadecimal.value(byte) != nil || ".:*".utf8.contains(byte)
    }
}
