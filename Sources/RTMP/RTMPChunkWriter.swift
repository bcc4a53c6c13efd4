import EncodedMedia

/// Cuts messages into chunks (Adobe RTMP 1.0, §5.3). Pure.
///
/// Every message has a full header with its own time, so that no message depends on the previous one.
package struct RTMPChunkWriter: Hashable, Sendable {
    /// Bytes of payload in a chunk. A connection begins with 128; any other size must be announced to the peer.
    package var chunkSize = 128

    /// - Parameters:
    ///   - id: Chunk stream, 2…63.
    ///   - timestamp: Timestamp in ms.
    ///   - stream: Message stream.
    ///   - body: Body of the message, at most `RTMPMessage.longest` bytes.
    package func append(
        _ kind: RTMPMessage.Kind, on id: UInt8, timestamp: UInt32 = 0, stream: UInt32 = 0, body: ArraySlice<UInt8>,
        to bytes: inout [UInt8]
    ) {
        let isExtended = timestamp >= 0xFF_FFFF
        bytes.reserveCapacity(bytes.count + body.count + 16 + 5 * (body.count / chunkSize))
        bytes.append(id)
        bytes.appendBigEndian(isExtended ? 0xFF_FFFF : timestamp, bytes: 3)
        bytes.appendBigEndian(body.count, bytes: 3)
        bytes.append(kind.rawValue)
        bytes.appendBigEndian(stream.byteSwapped)
        if isExtended { bytes.appendBigEndian(timestamp) }
        var rest = body
        while true {
            bytes.append(contentsOf: rest.prefix(chunkSize))
            rest = rest.dropFirst(chunkSize)
            guard !rest.isEmpty else { break }
            bytes.append(0xC0 | id)
            if isExtended { bytes.appendBigEndian(timestamp) }
        }
    }
}
