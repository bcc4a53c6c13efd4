/// One message of an RTMP connection, assembled from its chunks (Adobe RTMP 1.0, §6).
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
        /// Script data after a byte that says AMF0.
        package static let extendedScript = Kind(rawValue: 15)
        /// A command after a byte that says AMF0.
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
        bytes.append(kind.rawValue)
        bytes.append(UInt32(truncatingIfNeeded: body.count), bytes: 3)
        bytes.append(timestamp & 0xFF_FFFF, bytes: 3)
        bytes.append(UInt8(timestamp >> 24))
        bytes.append(contentsOf: [0, 0, 0])
        bytes.append(contentsOf: body)
        bytes.append(UInt32(truncatingIfNeeded: body.count + 11), bytes: 4)
    }

    /// Largest number of messages in an aggregate: each takes more memory than the 11 bytes in which it may have been
    /// written.
    package static let mostParts = 4096

    /// Returns the messages inside an aggregate (§7.1.6): FLV tags whose times count from the aggregate's own.
    package func parts() throws(RTMPError) -> [RTMPMessage] {
        var parts: [RTMPMessage] = []
        var position = 0
        var first: UInt32?
        while position < body.count {
            guard parts.count < Self.mostParts else {
                throw .malformed("an aggregate of more than \(Self.mostParts) tags")
            }
            guard body.count - position >= 11 else { throw .malformed("an aggregate ends inside a tag header") }
            let length = Int(body[position + 1..<position + 4].bigEndian)
            let time = body[position + 4..<position + 7].bigEndian | UInt32(body[position + 7]) << 24
            let start = position + 11
            guard body.count - start >= length else { throw .malformed("an aggregate ends inside a tag") }
            let origin = first ?? time
            first = origin
            parts.append(
                RTMPMessage(
                    kind: Kind(rawValue: body[position]), timestamp: timestamp &+ (time &- origin), stream: stream,
                    body: Array(body[start..<start + length])))
            // Some servers leave out the last back pointer.
            position = start + length + 4
        }
        return parts
    }
}

extension Array where Element == UInt8 {
    /// Appends the `bytes` low bytes of `value`, most significant first.
    package mutating func append(_ value: UInt32, bytes: Int) {
        for index in (0..<bytes).reversed() { append(UInt8(truncatingIfNeeded: value >> (8 * UInt32(index)))) }
    }
}

extension ArraySlice where Element == UInt8 {
    /// The big-endian number in these bytes, at most 4.
    package var bigEndian: UInt32 { reduce(0) { $0 << 8 | UInt32($1) } }
}
