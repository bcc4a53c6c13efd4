/// The way up of a stream that a server has accepted. From any thread.
struct RTMPUplink: Sendable {
    /// `@setDataFrame`: what makes a server keep metadata for players that come later (AMF0).
    private static let keepMetadata: [UInt8] = [2, 0, 13] + "@setDataFrame".utf8
    private static let metadataName: [UInt8] = [2, 0, 10] + "onMetaData".utf8

    let connection: TCPConnection
    /// The message stream.
    let stream: UInt32
    let writer: RTMPChunkWriter
    /// Bytes that the connection was given before the first of the stream.
    let bytesBefore: Int64

    /// - Parameter tag: An FLV tag with its header and back pointer. What is none is left out.
    func send(_ tag: [UInt8]) { connection.send(encode(tag)) }

    /// The same; what other destinations have encoded alike is used again.
    func send(_ tag: OutputTag) {
        guard stream == Self.usualStream, writer.chunkSize == RTMPClient.publishedChunkSize else {
            return send(tag.bytes)
        }
        connection.send(tag.message { encode(tag.bytes) })
    }

    /// The number that nearly every server gives to the first stream of a connection.
    private static let usualStream: UInt32 = 1

    /// The tag as the chunks of one message.
    func encode(_ tag: [UInt8]) -> [UInt8] {
        guard tag.count >= 15 else { return [] }
        let kind = RTMPMessage.Kind(rawValue: tag[0])
        let timestamp = tag[4..<7].bigEndian | UInt32(tag[7]) << 24
        var body = tag[11..<tag.count - 4]
        if kind == .script, body.starts(with: Self.metadataName) { body = (Self.keepMetadata + body)[...] }
        var bytes: [UInt8] = []
        // Pictures on a chunk stream of their own, as everybody has them.
        writer.append(
            kind, on: kind == .video ? 6 : 4, timestamp: timestamp, stream: stream, body: body, to: &bytes)
        return bytes
    }
}
