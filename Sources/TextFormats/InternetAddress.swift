/// An IPv4 or IPv6 address, classified by the kind of network it belongs to.
public struct InternetAddress: Hashable, Sendable, CustomStringConvertible {
    /// Address in network byte order. 4 or 16 bytes.
    public let bytes: [UInt8]

    /// Creates an address from bytes in network byte order; `nil` unless there are 4 or 16.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Whether the address can be reached from everywhere: it is not private, link-local, loopback, multicast or
    /// reserved (the special-purpose registries of RFC 6890). For an address that embeds an IPv4 address, the embedded
    /// one decides.
    public var isPublic: Bool {
        if let inner = embedded { return inner.isPublic }
        if bytes.count == 4 { return !Self.special4.contains { Self.isInside(bytes, $0) } }
        return Self.isInside(bytes, ([0x20], 3)) && !Self.special6.contains { Self.isInside(bytes, $0) }
    }

    public var isLoopback: Bool {
        if let inner = embedded { return inner.isLoopback }
        return bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
    }

    /// The address as written in the host of a URL, without brackets.
    public var description: String {
        if let inner = embedded, Self.isInside(bytes, Self.mapped) { return inner.description }
        if bytes.count == 4 { return bytes.map { String($0) }.joined(separator: ".") }
        let words = stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        func text(_ words: some Sequence<UInt16>) -> String {
            words.map { String($0, radix: 16) }.joined(separator: ":")
        }
        // RFC 5952: the first longest run of two or more zeros is omitted.
        var zeros = 0..<0
        for start in words.indices {
            let length = words[start...].prefix { $0 == 0 }.count
            if length > max(zeros.count, 1) { zeros = start..<start + length }
        }
        guard !zeros.isEmpty else { return text(words) }
        return text(words[..<zeros.lowerBound]) + "::" + text(words[zeros.upperBound...])
    }

    /// The IPv4 address in a mapped, translated (NAT64) or 6to4 address.
    private var embedded: InternetAddress? {
        guard bytes.count == 16 else { return nil }
        if Self.isInside(bytes, Self.mapped) || Self.isInside(bytes, Self.translated) {
            return InternetAddress(Array(bytes[12...]))
        }
        return Self.isInside(bytes, ([0x20, 0x02], 16)) ? InternetAddress(Array(bytes[2..<6])) : nil
    }

    private typealias Network = (prefix: [UInt8], bits: Int)
    private static let mapped: Network = ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96)
    private static let translated: Network = ([0x00, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0], 96)

    private static let special4: [Network] = [
        ([0], 8), ([10], 8), ([100, 64], 10), ([127], 8), ([169, 254], 16), ([172, 16], 12), ([192, 0, 0], 24),
        ([192, 0, 2], 24), ([192, 88, 99], 24), ([192, 168], 16), ([198, 18], 15), ([198, 51, 100], 24),
        ([203, 0, 113], 24), ([224], 4), ([240], 4),
    ]
    /// Special networks inside 2000::/3.
    private static let special6: [Network] = [
        ([0x20, 0x01, 0x00], 23), ([0x20, 0x01, 0x0D, 0xB8], 32), ([0x3F, 0xFF, 0x00], 20),
    ]

    private static func isInside(_ bytes: [UInt8], _ network: Network) -> Bool {
        for (index, byte) in network.prefix.enumerated() {
            let left = network.bits - index * 8
            let mask: UInt8 = left >= 8 ? 0xFF : ~(0xFF >> UInt8(left))
            guard bytes[index] & mask == byte & mask else { return false }
        }
        return true
    }
}
