import MediaFormats

/// Sends tags to a server that has accepted the stream. Usable from any thread.
package struct RTMPUplink: Sendable {
    /// `@setDataFrame` in AMF0, which makes a server keep metadata for players that join later.
    private static let keepMetadata: [UInt8] = [2, 0, 13] + "@setDataFrame".utf8
    private static let metadataName: [UInt8] = [2, 0, 10] + "onMetaData".utf8

    package let connection: TCPConnection
    /// The message stream.
    package let stream: UInt32
    package let writer: RTMPChunkWriter
    /// Number of bytes sent on the connection before the first byte of the stream.
    package let bytesBefore: Int64

    package init(connection: TCPConnection, stream: UInt32, writer: RTMPChunkWriter, bytesBefore: Int64) {
        self.connection = connection
        self.stream = stream
        self.writer = writer
        self.bytesBefore = bytesBefore
    }

    /// Sends a tag, reusing the bytes that other destinations have encoded in the same form. Tags that arrived together go out
    /// in one write.
    package func send(_ tag: OutputTag) {
        let isUsual = stream == Self.usualStream && writer.chunkSize == RTMPClient.publishedChunkSize
        connection.sendTogether(isUsual ? tag.message { encode(tag.tag) } : encode(tag.tag))
    }

    /// The number that nearly every server assigns to the first stream of a connection.
    private static let usualStream: UInt32 = 1

    /// Returns the tag as the chunks of one message.
    package func encode(_ tag: FLVTag) -> [UInt8] {
        let kind = RTMPMessage.Kind(rawValue: tag.kind.rawValue)
        var body = tag.body[...]
        if kind == .script, body.starts(with: Self.metadataName) { body = (Self.keepMetadata + body)[...] }
        var bytes: [UInt8] = []
        // Video goes on a chunk stream of its own, as with other clients.
        writer.append(
            kind, on: kind == .video ? 6 : 4, timestamp: tag.timestamp, stream: stream, body: body, to: &bytes)
        return bytes
    }
}
