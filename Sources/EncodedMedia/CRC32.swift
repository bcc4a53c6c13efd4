/// The CRC-32 checksum of ZIP and PNG files (ITU-T V.42 §8.1.1.6.2, reflected).
///
/// Bytes may be added in pieces of any size.
public struct CRC32: Hashable, Sendable {
    private var register: UInt32 = 0xFFFF_FFFF

    public init() {}

    public mutating func update(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            register = CRC32.table[Int(UInt8(truncatingIfNeeded: register) ^ byte)] ^ register >> 8
        }
    }

    public var value: UInt32 { ~register }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }
}
