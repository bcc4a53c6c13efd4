/// The bytes of an image file with a position in them; nothing is read beyond the end.
struct ImageBytes {
    private let bytes: [UInt8]
    var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var count: Int { bytes.count }
    var remaining: Int { max(bytes.count - position, 0) }

    func starts(with prefix: [UInt8]) -> Bool { bytes.starts(with: prefix) }

    subscript(index: Int) -> UInt8? { bytes.indices.contains(index) ? bytes[index] : nil }

    /// A big-endian number of up to four bytes; moves on.
    mutating func big(_ count: Int) -> Int? { number(count) { $0 } }

    /// A little-endian number of up to four bytes; moves on.
    mutating func little(_ count: Int) -> Int? { number(count) { count - 1 - $0 } }

    private mutating func number(_ count: Int, _ place: (Int) -> Int) -> Int? {
        guard remaining >= count else { return nil }
        defer { position += count }
        return (0..<count).reduce(0) { $0 << 8 | Int(bytes[position + place($1)]) }
    }

    /// Bytes as ASCII; others than ASCII become spaces. `nil` beyond the end.
    func text(at index: Int, count: Int) -> String? {
        guard index >= 0, index + count <= bytes.count else { return nil }
        return String(decoding: bytes[index..<index + count].map { $0 < 128 ? $0 : 32 }, as: UTF8.self)
    }

    func slice(_ range: Range<Int>) -> [UInt8] { Array(bytes[range.clamped(to: 0..<bytes.count)]) }

    /// How often `marker` follows a 0xFF from here on; stops counting above `most`.
    func count(ofMarker marker: UInt8, most: Int) -> Int {
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
