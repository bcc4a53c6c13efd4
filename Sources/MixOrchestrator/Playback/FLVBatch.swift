import NIOCore

/// Tags that viewers get in one write.
struct FLVBatch: Sendable {
    /// Where a player can begin.
    struct Entry: Sendable {
        /// File header and the headers in force, for whoever has got nothing yet.
        var opening: ByteBuffer
        /// The headers alone, for whoever has others; `nil` when there are none.
        var headers: ByteBuffer?
        /// Of the headers.
        var revision: Int
    }

    /// Framed as one chunk of HTTP/1.1 (RFC 9112, §7.1). All viewers share the memory.
    var bytes: ByteBuffer
    /// Of the first tag and of the newest one, in ms.
    var timestamp: UInt32
    var lastTimestamp: UInt32
    /// `nil` when it does not begin with a keyframe.
    var entry: Entry?
    /// Of the headers in force after it.
    var revision: Int
}

/// The bytes of one chunk of HTTP/1.1: its size in eight digits, what is written to it, and the line end.
struct HTTPChunk: Sendable {
    private var buffer: ByteBuffer
    private static let sizeLength = 10

    init(capacity: Int) {
        buffer = ByteBufferAllocator().buffer(capacity: capacity + Self.sizeLength + 2)
        buffer.writeRepeatingByte(UInt8(ascii: "0"), count: 8)
        buffer.writeStaticString("\r\n")
    }

    /// Bytes of content.
    var count: Int { buffer.readableBytes - Self.sizeLength }

    /// - Parameter timestamp: Takes the place of the tag's own.
    mutating func write(_ tag: ViewedTag, timestamp: UInt32) {
        let start = buffer.writerIndex
        buffer.writeImmutableBuffer(tag.bytes)
        // 24 bits, then the 8 highest.
        buffer.setInteger(timestamp << 8 | timestamp >> 24, at: start + 4)
    }

    mutating func write(_ bytes: [UInt8]) { buffer.writeBytes(bytes) }

    /// Nothing may be written afterwards.
    ///
    /// - Returns: `nil` when nothing was written: an empty chunk is the end of a body.
    mutating func finish() -> ByteBuffer? {
        guard count > 0 else { return nil }
        var size = UInt32(truncatingIfNeeded: count)
        for index in (0..<8).reversed() {
            buffer.setInteger(Self.digits[Int(size & 0xF)], at: buffer.readerIndex + index)
            size >>= 4
        }
        buffer.writeStaticString("\r\n")
        return buffer
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
