extension RandomAccessCollection<UInt8> where Index == Int {
    /// Reads a big-endian number.
    ///
    /// A number that takes all bytes of a signed type is read as two's complement, one of fewer bytes as non-negative.
    ///
    /// - Parameters:
    ///   - index: Index of the most significant byte.
    ///   - count: Number of bytes, from 1 to the size of `Number`, which is the default.
    /// - Returns: The number; `nil` if a byte of it is outside the collection.
    @inlinable
    package func bigEndian<Number: FixedWidthInteger>(
        _: Number.Type, at index: Int, bytes count: Int = MemoryLayout<Number>.size
    ) -> Number? {
        guard count >= 1, count <= MemoryLayout<Number>.size, index >= startIndex, endIndex - index >= count else {
            return nil
        }
        var number: Number = 0
        for place in index..<index + count { number = number << 8 | Number(truncatingIfNeeded: self[place]) }
        return number
    }
}

extension [UInt8] {
    /// Appends the low `count` bytes of `value`, from 1 to its size, the most significant one first.
    @inlinable
    package mutating func appendBigEndian<Number: FixedWidthInteger>(
        _ value: Number, bytes count: Int = MemoryLayout<Number>.size
    ) {
        // Byte by byte, because appending a slice of a few bytes costs several times as much.
        for place in (0..<count).reversed() { append(UInt8(truncatingIfNeeded: value >> (8 * place))) }
    }

    /// Overwrites the bytes of a number from `index` on, all of which must exist.
    @inlinable
    package mutating func setBigEndian<Number: FixedWidthInteger>(_ value: Number, at index: Int) {
        let size = MemoryLayout<Number>.size
        for byte in 0..<size { self[index + byte] = UInt8(truncatingIfNeeded: value >> (8 * (size - 1 - byte))) }
    }
}
