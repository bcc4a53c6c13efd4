/// Reads bits from the most significant to the least; past the end it reads zeros and `isPastEnd` is true.
package struct BitReader {
    private let bytes: [UInt8]
    private var position = 0

    package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    /// Creates a reader of an RBSP from a NAL unit's bytes: removes the 3 of each `00 00 03` (ITU-T H.264 §7.4.1.1).
    package init(removingEmulationPrevention bytes: some Sequence<UInt8>) {
        var payload: [UInt8] = []
        var zeros = 0
        for byte in bytes {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            payload.append(byte)
        }
        self.bytes = payload
    }

    package var isPastEnd: Bool { position > bytes.count * 8 }

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

    /// Reads ue(v) (ITU-T H.264 §9.1); returns 0 for a code with 32 or more leading zeros.
    mutating func unsignedExpGolomb() -> UInt32 {
        var zeros = 0
        while zeros < 32, position < bytes.count * 8, !flag() { zeros += 1 }
        guard zeros < 32 else { return 0 }
        return (1 << UInt32(zeros)) - 1 + read(zeros)
    }

    /// Reads se(v) (ITU-T H.264 §9.1.1).
    mutating func signedExpGolomb() -> Int32 {
        let code = Int32(truncatingIfNeeded: unsignedExpGolomb())
        return code & 1 == 1 ? (code >> 1) &+ 1 : -(code >> 1)
    }
}
