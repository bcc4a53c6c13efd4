/// Reads bits from the most significant to the least; past the end it reads zeros and `isPastEnd` is true.
package struct BitReader {
    private let bytes: [UInt8]
    private var position = 0

    package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    /// Creates a reader of an RBSP from a NAL unit's bytes: removes the 3 of each `00 00 03` (ITU-T H.264 §7.4.1.1).
    package init(removingEmulationPrevention bytes: some Sequence<UInt8>) {
        self.bytes = Self.payload(of: bytes)
    }

    /// Returns the RBSP in a NAL unit's bytes.
    static func payload(of bytes: some Sequence<UInt8>) -> [UInt8] {
        var payload: [UInt8] = []
        payload.reserveCapacity(bytes.underestimatedCount)
        var zeros = 0
        for byte in bytes {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            payload.append(byte)
        }
        return payload
    }

    package var isPastEnd: Bool { position > bytes.count * 8 }

    /// Reads a number of at most 32 bits.
    package mutating func read(_ count: Int) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count {
            value = value << 1 | (flag() ? 1 : 0)
        }
        return value
    }

    mutating func flag() -> Bool {
        defer { position += 1 }
        guard position < bytes.count * 8 else { return false }
        return bytes[position / 8] >> UInt8(7 - position % 8) & 1 == 1
    }

    mutating func skip(_ count: Int) { position += count }

    /// Skips to the next whole byte.
    mutating func align() { position = (position + 7) & ~7 }

    /// Reads ue(v) (ITU-T H.264 §9.1), 0…2³²−2.
    ///
    /// Returns 2³²−1 for a code with 32 or more leading zeros, of which it reads 32, and 0 for one whose zeros reach the
    /// end.
    mutating func unsignedExpGolomb() -> UInt32 {
        var zeros: UInt32 = 0
        while !flag() {
            guard !isPastEnd else { return 0 }
            zeros += 1
            guard zeros < 32 else { return .max }
        }
        return (1 << zeros) - 1 + read(Int(zeros))
    }

    /// Reads se(v) (ITU-T H.264 §9.1.1), saturating at the limits of `Int32`.
    mutating func signedExpGolomb() -> Int32 {
        let code = Int64(unsignedExpGolomb())
        return Int32(clamping: code & 1 == 1 ? (code + 1) / 2 : -(code / 2))
    }
}
