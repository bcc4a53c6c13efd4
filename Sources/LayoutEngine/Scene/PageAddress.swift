/// The address of a web page: `http://` or `https://` with a host, at most 2,048 bytes of printable ASCII. May contain
/// a secret.
///
/// Addresses are compared by their bytes.
public struct PageAddress: Hashable, Codable, Sendable {
    public static let longest = 2048

    /// The whole address.
    public let text: String

    /// Creates an address; `nil` unless `text` is a valid one.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.longest, text.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else { return nil }
        let folded = text.lowercased()
        guard
            let scheme = ["http://", "https://"].first(where: { folded.utf8.starts(with: $0.utf8) }),
            let host = text.utf8.dropFirst(scheme.utf8.count).first, !"/?#:@".utf8.contains(host)
        else { return nil }
        self.text = text
    }

    /// The address without user, query and fragment, for display and logs.
    public var shown: String {
        let place = text.utf8.prefix { !"?#".utf8.contains($0) }
        guard let start = text.utf8.firstIndex(of: UInt8(ascii: "/")) else { return "" }
        let rest = place[start...].dropFirst(2)
        let authority = rest.prefix { $0 != UInt8(ascii: "/") }
        let host = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[authority.index(after: $0)...] }
        let parts = [place[..<start], (host ?? authority), rest.dropFirst(authority.count)]
            .map { String(Substring($0)) }
        return "\(parts[0])//\(parts[1])\(parts[2])"
    }

    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let address = Self(text) else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "not the address of a page"))
        }
        self = address
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    public static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    public func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }
}
