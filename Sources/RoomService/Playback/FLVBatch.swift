import NIOCore
import TextFormats

/// Tags that viewers receive in one write.
struct FLVBatch: Sendable {
    /// A point at which a player can start.
    struct Entry: Sendable {
        /// File header and the headers in force, for a viewer who has received nothing yet.
        var opening: ByteBuffer
        /// The headers alone, for a viewer that has other headers; `nil` when there are none.
        var headers: ByteBuffer?
        /// Revision of the headers.
        var revision: Int
    }

    /// Framed as one chunk of HTTP/1.1 (RFC 9112, §7.1). All viewers share the memory.
    var bytes: ByteBuffer
    /// Timestamps of the first tag and of the newest one, in ms.
    var timestamp: UInt32
    var lastTimestamp: UInt32
    /// Entry point; `nil` when a player cannot start with this batch.
    var entry: Entry?
    /// Revision of the headers in force after the batch.
    var revision: Int
}

/// The bytes of one chunk of HTTP/1.1: its size in eight digits, its content, and the line end.
struct HTTPChunk: Sendable {
    private var buffer: ByteBuffer
    private static let sizeLength = 10

    init(capacity: Int) {
        buffer = ByteBufferAllocator().buffer(capacity: capacity + Self.sizeLength + 2)
        buffer.writeRepeatingByte(UInt8(ascii: "0"), count: 8)
        buffer.writeStaticString("\r\n")
    }

    /// Length of the content, in bytes.
    var count: Int { buffer.readableBytes - Self.sizeLength }

    /// - Parameter timestamp: Timestamp in ms, which replaces the tag's own.
    mutating func write(_ tag: ViewedTag, timestamp: UInt32) {
        let start = buffer.writerIndex
        buffer.writeImmutableBuffer(tag.bytes)
        // 24 bits, then the 8 highest.
        buffer.setInteger(timestamp << 8 | timestamp >> 24, at: start + 4)
    }

    mutating func write(_ bytes: [UInt8]) { buffer.writeBytes(bytes) }

    /// Completes the chunk. Nothing may be written afterwards.
    ///
    /// - Returns: The bytes of the chunk; `nil` when it has no content, because an empty chunk ends a body.
    mutating func finish() -> ByteBuffer? {
        guard count > 0 else { return nil }
        var size = UInt32(truncatingIfNeeded: count)
        for index in (0..<8).reversed() {
            buffer.setInteger(Hexadecimal.digit(UInt8(truncatingIfNeeded: size)), at: buffer.readerIndex + index)
            size >>= 4
        }
        buffer.writeStaticString("\r\n")
        return buffer
    }
}
