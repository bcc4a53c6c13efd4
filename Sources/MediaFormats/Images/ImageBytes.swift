import EncodedMedia

/// A cursor over the bytes of an image file. Reads never go beyond the end.
package struct ImageBytes {
    private let bytes: [UInt8]
    package var position = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package var count: Int { bytes.count }
    package var remaining: Int { max(bytes.count - position, 0) }

    package func starts(with prefix: [UInt8]) -> Bool { bytes.starts(with: prefix) }

    package subscript(index: Int) -> UInt8? { bytes.indices.contains(index) ? bytes[index] : nil }

    /// Reads a big-endian number of up to four bytes and advances past it; returns `nil` if too few bytes remain.
    mutating func big(_ count: Int) -> Int? {
        guard let number = bytes.bigEndian(Int.self, at: position, bytes: count) else { return nil }
        position += count
        return number
    }

    /// Reads a little-endian number of up to four bytes and advances past it; returns `nil` if too few bytes remain.
    mutating func little(_ count: Int) -> Int? {
        guard remaining >= count else { return nil }
        defer { position += count }
        return bytes[position..<position + count].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Returns bytes as ASCII text, with a space for each non-ASCII byte; `nil` if the range goes beyond the end.
    package func text(at index: Int, count: Int) -> String? {
        guard index >= 0, index + count <= bytes.count else { return nil }
        return String(decoding: bytes[index..<index + count].map { $0 < 128 ? $0 : 32 }, as: UTF8.self)
    }

    func slice(_ range: Range<Int>) -> [UInt8] { Array(bytes[range.clamped(to: 0..<bytes.count)]) }

    /// Counts how often `marker` follows a 0xFF from the current position on. Stops once the count exceeds `most`.
    package func count(ofMarker marker: UInt8, most: Int) -> Int {
        bytes.withUnsafeBufferPointer { bytes in
            var found = 0
            var index = position
            while index + 1 < bytes.count, found <= most {
                if bytes[index] == 0xFF, bytes[index + 1] == marker { found += 1 }
                index += 1
            }
            return found
        }
    }
}
