import EncodedMedia

/// Assembles an RTMP peer's messages from its chunks (Adobe RTMP 1.0, §5.3). Pure.
///
/// Bytes may be cut anywhere. Messages that concern only the chunks, a new chunk size or an abort, are handled here and
/// not passed on. After an error the reader must not be used again.
package struct RTMPChunkReader: Sendable {
    package struct Limits: Hashable, Sendable {
        /// Largest number of different chunk streams in the life of a connection.
        package var chunkStreams = 64
        /// Largest size of incomplete messages over all chunk streams, in bytes.
        package var unfinishedBytes = 32 << 20
        /// Largest size of one message, in bytes.
        package var messageBytes = RTMPMessage.longest
        /// Largest chunk size that the peer may announce, in bytes.
        package var chunkSize = 0x7FFF_FFFF
        /// Whether audio and video messages larger than `messageBytes` are left out. Otherwise, they are an error.
        package var leavesOutLongMedia = false

        package init(
            chunkStreams: Int = 64, unfinishedBytes: Int = 32 << 20, messageBytes: Int = RTMPMessage.longest,
            chunkSize: Int = 0x7FFF_FFFF, leavesOutLongMedia: Bool = false
        ) {
            self.chunkStreams = chunkStreams
            self.unfinishedBytes = unfinishedBytes
            self.messageBytes = messageBytes
            self.chunkSize = chunkSize
            self.leavesOutLongMedia = leavesOutLongMedia
        }

        /// Memory that is reserved for a message before its bytes have arrived.
        fileprivate var reserve: Int { min(1 << 16, unfinishedBytes / chunkStreams) }
    }

    private struct ChunkStream {
        let id: UInt32
        /// The timestamp field of the last header: a time after a header of type 0, otherwise a difference.
        var field: UInt32 = 0
        var isExtended = false
        var message: RTMPMessage
        var length = 0
        /// Bytes of the message that have come.
        var received = 0
        /// Whether a message has begun and is not complete.
        var isOpen = false
        /// Whether the bytes of the message are not kept.
        var isLeftOut = false
    }

    /// Limits for the chunks that follow.
    package var limits: Limits
    private var streams: [ChunkStream] = []
    private var chunkSize = 128
    private var unfinished = 0
    /// The beginning of a chunk header.
    private var header: [UInt8] = []
    /// The stream that receives the payload of the current chunk, and the number of bytes still to come.
    private var payload: (index: Int, remaining: Int)?

    package init(limits: Limits = Limits()) { self.limits = limits }

    /// - Returns: The messages that are complete after `bytes`, in order.
    package mutating func read(_ bytes: ArraySlice<UInt8>) throws(RTMPError) -> [RTMPMessage] {
        var rest = bytes
        var messages: [RTMPMessage] = []
        while !rest.isEmpty {
            if let (index, remaining) = payload {
                let piece = rest.prefix(remaining)
                rest = rest.dropFirst(piece.count)
                streams[index].received += piece.count
                if !streams[index].isLeftOut {
                    streams[index].message.body.append(contentsOf: piece)
                    unfinished += piece.count
                }
                payload = (index, remaining - piece.count)
            } else {
                guard let surplus = try readHeader(&rest) else { break }
                // The surplus is at most 4 bytes, too few to come here once more.
                if !surplus.isEmpty { messages += try read(surplus[...]) }
            }
            if let message = try finishChunk() { messages.append(message) }
        }
        return messages
    }

    /// Reads a chunk header up to its end, or as much of it as has arrived.
    ///
    /// - Returns: Bytes that were taken for an extended timestamp but are not one; `nil` if the header is not complete.
    private mutating func readHeader(_ rest: inout ArraySlice<UInt8>) throws(RTMPError) -> [UInt8]? {
        if header.isEmpty, let first = rest.first {
            // In one piece, as far as it has arrived. Only an extended timestamp may follow.
            let piece = rest.prefix(Self.basicLength(first) + Self.messageHeaderLengths[Int(first >> 6)])
            header.append(contentsOf: piece)
            rest = rest.dropFirst(piece.count)
        }
        while true {
            let missing = try headerLength() - header.count
            guard missing > 0 else { break }
            guard !rest.isEmpty else { return nil }
            let piece = rest.prefix(missing)
            header.append(contentsOf: piece)
            rest = rest.dropFirst(piece.count)
        }
        defer { header.removeAll(keepingCapacity: true) }
        return try beginChunk()
    }

    /// Returns the length of the header, as far as the bytes read so far determine it.
    private func headerLength() throws(RTMPError) -> Int {
        guard let first = header.first else { return 1 }
        let basic = Self.basicLength(first)
        guard header.count >= basic else { return basic }
        let format = first >> 6
        let length = basic + Self.messageHeaderLengths[Int(format)]
        guard header.count >= length else { return length }
        let isExtended =
            if format == 3 {
                streams.first { $0.id == chunkStreamID }?.isExtended ?? false
            } else {
                header.bigEndian(UInt32.self, at: basic, bytes: 3) == Self.extended
            }
        return isExtended ? length + 4 : length
    }

    private static let messageHeaderLengths = [11, 7, 3, 0]
    /// Value of a timestamp field that means that the time follows in 4 bytes of its own.
    private static let extended: UInt32 = 0xFF_FFFF

    private static func basicLength(_ first: UInt8) -> Int {
        switch first & 63 {
        case 0: 2
        case 1: 3
        default: 1
        }
    }

    private var chunkStreamID: UInt32 {
        switch header[0] & 63 {
        case 0: 64 + UInt32(header[1])
        case 1: 64 + UInt32(header[1]) + UInt32(header[2]) << 8
        case let id: UInt32(id)
        }
    }

    /// Begins the chunk whose complete header is in `header`.
    ///
    /// - Returns: Bytes that were taken for an extended timestamp but are not one.
    private mutating func beginChunk() throws(RTMPError) -> [UInt8] {
        let format = header[0] >> 6
        let basic = Self.basicLength(header[0])
        let index = try indexOfStream(chunkStreamID, format: format)
        var stream = streams[index]
        if format < 3 {
            guard !stream.isOpen else { throw .malformed("a message begins before the one before it is complete") }
            let field = try number(at: basic, bytes: 3)
            stream.isExtended = field == Self.extended
            stream.field = stream.isExtended ? try number(at: header.count - 4, bytes: 4) : field
        }
        if format < 2 {
            stream.length = Int(try number(at: basic + 3, bytes: 3))
            stream.message.kind = RTMPMessage.Kind(rawValue: header[basic + 6])
        }
        if format == 0 {
            // The only number in RTMP with its lowest byte first (§5.3.1.2.1).
            stream.message.stream = try number(at: basic + 7, bytes: 4).byteSwapped
        }
        var surplus: [UInt8] = []
        // Not every peer repeats the extended timestamp in a header of type 3; such bytes differ from the previous one.
        if format == 3, stream.isExtended, try number(at: header.count - 4, bytes: 4) != stream.field {
            surplus = Array(header.suffix(4))
        }
        if !stream.isOpen {
            let isLong = stream.length > limits.messageBytes
            stream.isLeftOut = isLong && limits.leavesOutLongMedia && [.audio, .video].contains(stream.message.kind)
            guard !isLong || stream.isLeftOut else { throw .malformed("a message of \(stream.length) bytes") }
            stream.isOpen = true
            stream.received = 0
            stream.message.timestamp = format == 0 ? stream.field : stream.message.timestamp &+ stream.field
            stream.message.body = []
            // A length is only a promise: memory grows with the bytes.
            if !stream.isLeftOut { stream.message.body.reserveCapacity(min(stream.length, limits.reserve)) }
        }
        streams[index] = stream
        let missing = stream.length - stream.received
        guard stream.isLeftOut || unfinished + missing <= limits.unfinishedBytes else {
            let limit = limits.unfinishedBytes
            let words = limit >= 1 << 20 ? "\(limit >> 20) MiB" : "\(limit >> 10) KiB"
            throw .malformed("more than \(words) of unfinished messages")
        }
        payload = (index, min(chunkSize, missing))
        return surplus
    }

    /// Reads a number of the complete header in `header`.
    private func number(at index: Int, bytes: Int) throws(RTMPError) -> UInt32 {
        guard let number = header.bigEndian(UInt32.self, at: index, bytes: bytes) else {
            throw .malformed("a chunk header is too short")
        }
        return number
    }

    private mutating func indexOfStream(_ id: UInt32, format: UInt8) throws(RTMPError) -> Int {
        if let index = streams.firstIndex(where: { $0.id == id }) { return index }
        guard format < 2 else { throw .malformed("a chunk refers to a header that was never sent") }
        guard streams.count < limits.chunkStreams else {
            throw .malformed("more than \(limits.chunkStreams) chunk streams")
        }
        streams.append(ChunkStream(id: id, message: RTMPMessage(kind: .abort, body: [])))
        return streams.count - 1
    }

    /// Ends the current chunk if it is complete.
    ///
    /// - Returns: The message that the chunk completes, unless the message is for this reader alone.
    private mutating func finishChunk() throws(RTMPError) -> RTMPMessage? {
        guard let (index, remaining) = payload, remaining == 0 else { return nil }
        payload = nil
        guard streams[index].received == streams[index].length else { return nil }
        streams[index].isOpen = false
        guard !streams[index].isLeftOut else { return nil }
        let message = streams[index].message
        streams[index].message.body = []
        unfinished -= message.body.count
        switch message.kind {
        case .setChunkSize: try setChunkSize(message.body)
        case .abort: abort(message.body)
        default: return message
        }
        return nil
    }

    private mutating func setChunkSize(_ body: [UInt8]) throws(RTMPError) {
        guard let size = body.bigEndian(UInt32.self, at: 0) else {
            throw .malformed("a chunk size of \(body.count) bytes")
        }
        guard size > 0, size <= limits.chunkSize else { throw .malformed("a chunk size of \(size)") }
        // No message is longer than this, so a larger size means the same.
        chunkSize = min(Int(size), RTMPMessage.longest)
    }

    private mutating func abort(_ body: [UInt8]) {
        guard let id = body.bigEndian(UInt32.self, at: 0), let index = streams.firstIndex(where: { $0.id == id }) else {
            return
        }
        unfinished -= streams[index].message.body.count
        streams[index].message.body = []
        streams[index].isOpen = false
    }
}
