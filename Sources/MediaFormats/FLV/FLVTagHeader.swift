import EncodedMedia

/// The header of an FLV tag (Adobe Flash Video File Format 10.1, §E.4.1).
package struct FLVTagHeader: Hashable, Sendable {
    /// The first byte as it is written: the tag's type, and flags.
    package var kind: UInt8
    /// Length of the body in bytes, 0…2²⁴−1.
    package var size: Int
    /// Decoding time in ms, 0…2³²−1.
    package var timestamp: UInt32

    package init(kind: UInt8, size: Int, timestamp: UInt32) {
        self.kind = kind
        self.size = size
        self.timestamp = timestamp
    }

    /// Reads the header that begins at `index`; `nil` if it is not complete.
    @inlinable
    package init?<Bytes: RandomAccessCollection<UInt8>>(_ bytes: Bytes, at index: Int) where Bytes.Index == Int {
        guard let head = bytes.bigEndian(UInt32.self, at: index),
            let time = bytes.bigEndian(UInt32.self, at: index + 4),
            bytes.endIndex - index >= FLVTag.headerLength
        else { return nil }
        self.init(kind: UInt8(head >> 24), size: Int(head & 0xFF_FFFF), timestamp: time >> 8 | time << 24)
    }

    /// Length of the tag with its header and its back pointer, in bytes.
    package var tagLength: Int { FLVTag.headerLength + size + 4 }

    /// Index of the time field in a tag.
    package static let timeIndex = 4

    /// Returns a time as its field stores it: the lower 24 bits, then the 8 highest.
    package static func timeField(_ timestamp: UInt32) -> UInt32 { timestamp << 8 | timestamp >> 24 }

    /// Appends the header.
    package func append(to bytes: inout [UInt8]) {
        bytes.append(kind)
        bytes.appendBigEndian(size, bytes: 3)
        bytes.appendBigEndian(Self.timeField(timestamp))
        bytes.append(contentsOf: [0, 0, 0])
    }
}

extension [UInt8] {
    /// Appends an FLV tag with its header and its back pointer.
    package mutating func appendFLVTag(_ kind: UInt8, timestamp: UInt32, body: [UInt8]) {
        FLVTagHeader(kind: kind, size: body.count, timestamp: timestamp).append(to: &self)
        append(contentsOf: body)
        appendBigEndian(UInt32(truncatingIfNeeded: FLVTag.headerLength + body.count))
    }
}
