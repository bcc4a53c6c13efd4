import EncodedMedia

/// Writes boxes of an ISO base media file (ISO/IEC 14496-12 §4.2) one after another.
package struct MP4Writer {
    package private(set) var bytes: [UInt8] = []

    mutating func uint8(_ value: UInt8) { bytes.append(value) }
    mutating func uint16(_ value: Int) { bytes.appendBigEndian(UInt16(truncatingIfNeeded: value)) }
    mutating func uint32(_ value: some BinaryInteger) {
        bytes.appendBigEndian(UInt32(truncatingIfNeeded: value))
    }
    mutating func uint64(_ value: Int64) { bytes.appendBigEndian(value) }
    package mutating func append(_ more: some Sequence<UInt8>) { bytes.append(contentsOf: more) }
    mutating func zeros(_ count: Int) { bytes.append(contentsOf: repeatElement(0, count: count)) }

    /// Writes a box around the content that `body` writes.
    package mutating func box(_ type: String, _ body: (inout MP4Writer) -> Void) {
        let start = bytes.count
        uint32(0)
        append(type.utf8)
        body(&self)
        set(UInt32(bytes.count - start), at: start)
    }

    /// Writes a box with version and flags (§4.2.2).
    mutating func fullBox(_ type: String, version: UInt8 = 0, flags: UInt32 = 0, _ body: (inout MP4Writer) -> Void) {
        box(type) { writer in
            writer.uint8(version)
            writer.bytes.appendBigEndian(flags, bytes: 3)
            body(&writer)
        }
    }

    /// Overwrites the four bytes at `index`.
    package mutating func set(_ value: UInt32, at index: Int) { bytes.setBigEndian(value, at: index) }

    package static func box(_ type: String, _ body: (inout MP4Writer) -> Void) -> [UInt8] {
        var writer = MP4Writer()
        writer.box(type, body)
        return writer.bytes
    }
}

/// Reads boxes of an ISO base media file.
struct MP4Reader {
    /// The type and place of a box.
    struct Box {
        var type: String
        /// Range of the content.
        var range: Range<Int>
        /// Range of the box with its header.
        var whole: Range<Int>
    }

    let bytes: [UInt8]

    /// Returns the consecutive boxes in `range`, up to the first incomplete one.
    func boxes(in range: Range<Int>) -> [Box] {
        var boxes: [Box] = []
        var position = range.lowerBound
        while position + 8 <= range.upperBound, let size = bytes.bigEndian(Int.self, at: position, bytes: 4) {
            guard size >= 8, position + size <= range.upperBound else { break }
            let type = String(decoding: bytes[position + 4..<position + 8], as: UTF8.self)
            boxes.append(Box(type: type, range: position + 8..<position + size, whole: position..<position + size))
            position += size
        }
        return boxes
    }

    /// Returns the first box at the end of this path of types.
    func box(_ path: String..., in range: Range<Int>) -> Box? {
        var range = range
        var found: Box?
        for type in path {
            guard let box = boxes(in: range).first(where: { $0.type == type }) else { return nil }
            range = box.range
            found = box
        }
        return found
    }

    /// Returns the number at `position`; 0 if it lies beyond the end.
    func uint32(_ position: Int) -> UInt32 { bytes.bigEndian(UInt32.self, at: position) ?? 0 }
    func uint64(_ position: Int) -> Int64 { bytes.bigEndian(Int64.self, at: position) ?? 0 }
}
