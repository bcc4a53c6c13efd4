extension ArraySlice<UInt8> {
    /// Reads a big-endian number of at most 4 bytes from `index` on, which must be there.
    package func bigEndian(at index: Int, bytes: Int) -> UInt32 {
        self[index..<index + bytes].reduce(0) { $0 << 8 | UInt32($1) }
    }
}

extension [UInt8] {
    /// Reads a big-endian number of at most 4 bytes from `index` on, which must be there.
    package func bigEndian(at index: Int, bytes: Int) -> UInt32 {
        self[index..<index + bytes].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Reads a big-endian number of 8 bytes from `index` on, which must be there.
    package func bigEndian64(at index: Int) -> UInt64 {
        UInt64(bigEndian(at: index, bytes: 4)) << 32 | UInt64(bigEndian(at: index + 4, bytes: 4))
    }

    /// Appends the low `bytes` bytes of `value`, at most 4, the most significant one first.
    package mutating func appendBigEndian(_ value: UInt32, bytes: Int) {
        for index in (0..<bytes).reversed() {
            append(UInt8(truncatingIfNeeded: value >> (8 * UInt32(index))))
        }
    }

    /// Appends the 8 bytes of `value`, the most significant one first.
    package mutating func appendBigEndian64(_ value: UInt64) {
        appendBigEndian(UInt32(value >> 32), bytes: 4)
        appendBigEndian(UInt32(truncatingIfNeeded: value), bytes: 4)
    }

    /// Overwrites the 4 bytes from `index` on, which must be there.
    package mutating func setBigEndian(_ value: UInt32, at index: Int) {
        for byte in 0..<4 { self[index + byte] = UInt8(truncatingIfNeeded: value >> (24 - 8 * UInt32(byte))) }
    }
}
