import MediaFormats

/// A message of an RTMP connection, assembled from its chunks (Adobe RTMP 1.0, §6).
package struct RTMPMessage: Hashable, Sendable {
    /// The message type as written (§5.4, §6.2, §7.1). A server may send others.
    package struct Kind: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let setChunkSize = Kind(rawValue: 1)
        package static let abort = Kind(rawValue: 2)
        package static let acknowledgement = Kind(rawValue: 3)
        package static let userControl = Kind(rawValue: 4)
        package static let windowSize = Kind(rawValue: 5)
        package static let peerBandwidth = Kind(rawValue: 6)
        package static let audio = Kind(rawValue: 8)
        package static let video = Kind(rawValue: 9)
        /// Script data after a byte that selects AMF0.
        package static let extendedScript = Kind(rawValue: 15)
        /// A command after a byte that selects AMF0.
        package static let extendedCommand = Kind(rawValue: 17)
        package static let script = Kind(rawValue: 18)
        package static let command = Kind(rawValue: 20)
        /// Several audio, video and script messages in one.
        package static let aggregate = Kind(rawValue: 22)
    }

    /// Longest body in bytes that a 24-bit length can express.
    package static let longest = 0xFF_FFFF

    package var kind: Kind
    /// Timestamp in ms; wraps at 2³².
    package var timestamp: UInt32 = 0
    /// The message stream; 0 for the connection itself.
    package var stream: UInt32 = 0
    package var body: [UInt8]

    package init(kind: Kind, timestamp: UInt32 = 0, stream: UInt32 = 0, body: [UInt8]) {
        self.kind = kind
        self.timestamp = timestamp
        self.stream = stream
        self.body = body
    }

    /// Appends the body as an FLV tag with its header and back pointer (FLV 10.1, §E.4.1).
    package func appendTag(to bytes: inout [UInt8]) {
        bytes.appendFLVTag(kind.rawValue, timestamp: timestamp, body: body)
    }

    /// Largest number of messages in an aggregate. A message takes more memory than the 11 bytes in which it may have
    /// been written.
    package static let mostParts = 4096

    /// Returns the messages inside an aggregate (§7.1.6): FLV tags whose timestamps are relative to the aggregate's
    /// own.
    package func parts() throws(RTMPError) -> [RTMPMessage] {
        var parts: [RTMPMessage] = []
        var position = 0
        var first: UInt32?
        while position < body.count {
            guard parts.count < Self.mostParts else {
                throw .malformed("an aggregate of more than \(Self.mostParts) tags")
            }
            guard let header = FLVTagHeader(body, at: position) else {
                throw .malformed("an aggregate ends inside a tag header")
            }
            let start = position + FLVTag.headerLength
            guard body.count - start >= header.size else { throw .malformed("an aggregate ends inside a tag") }
            let origin = first ?? header.timestamp
            first = origin
            parts.append(
                RTMPMessage(
                    kind: Kind(rawValue: header.kind), timestamp: timestamp &+ (header.timestamp &- origin),
                    stream: stream, body: Array(body[start..<start + header.size])))
            // Some servers leave out the last back pointer.
            position += header.tagLength
        }
        return parts
    }
}
