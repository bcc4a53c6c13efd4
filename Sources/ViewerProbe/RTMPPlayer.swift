import EncodedMedia
import Foundation
import MediaFormats

/// A viewer of one RTMP stream (Adobe RTMP 1.0), deliberately no more than a player: it shares `AMF0` and the bytes of
/// numbers with the service's own RTMP client; it changes no timestamp and drops nothing.
///
/// Blocking; used by one thread.
final class RTMPPlayer {
    /// An audio, video or data message, which is the body of an FLV tag.
    struct Message {
        /// The FLV tag type: 8 audio, 9 video, 18 script data.
        var kind: UInt8
        /// Timestamp in ms.
        var timestamp: UInt32
        var body: [UInt8]
    }

    private struct ChunkStream {
        var timestamp: UInt32 = 0
        var delta: UInt32 = 0
        var isExtended = false
        var length = 0
        var kind: UInt8 = 0
        var partial: [UInt8] = []
    }

    /// Limit of chunk streams in one connection; each may contain a message of 16 MiB.
    private static let mostStreams = 64

    private let socket: StreamSocket
    private var streams: [Int: ChunkStream] = [:]
    private var chunkSize = 128
    private var acknowledgeEvery = 2_500_000
    private var acknowledged = 0
    /// Number of times that the server announced the publisher's departure.
    private(set) var unpublished = 0

    /// Connects and requests the stream; messages follow from `next()`.
    init(url: String, isCancelled: @escaping () -> Bool) throws(ProbeError) {
        guard let parts = URLComponents(string: url), parts.scheme == "rtmp", let host = parts.host,
            let slash = parts.path.dropFirst().lastIndex(of: "/")
        else { throw .badURL(url) }
        let application = String(parts.path.dropFirst()[..<slash])
        let name = String(parts.path[parts.path.index(after: slash)...]) + (parts.query.map { "?" + $0 } ?? "")
        let port = parts.port ?? 1935
        socket = try StreamSocket(host: host, port: port, isCancelled: isCancelled)
        try shakeHands()
        try command(
            stream: 0,
            [
                .string("connect"), .number(1),
                .object([
                    .init(name: "app", value: .string(application)),
                    .init(name: "flashVer", value: .string("LNX 9,0,124,2")),
                    .init(name: "tcUrl", value: .string("rtmp://\(host):\(port)/\(application)")),
                    .init(name: "fpad", value: .boolean(false)),
                    .init(name: "capabilities", value: .number(15)),
                    .init(name: "audioCodecs", value: .number(4071)),
                    .init(name: "videoCodecs", value: .number(252)),
                    .init(name: "videoFunction", value: .number(1)),
                ]),
            ])
        _ = try answer(to: 1, what: "connect to application \(application)")
        try command(stream: 0, [.string("createStream"), .number(2), .null])
        guard case .number(let number)? = try answer(to: 2, what: "create a stream").last,
            let stream = UInt32(exactly: number)
        else { throw .malformed("the server gave no stream number") }
        try command(stream: stream, [.string("play"), .number(3), .null, .string(name), .number(-2000)])
        // The length of the player's buffer, 100 ms, because servers may wait for it.
        var buffering: [UInt8] = [0, 3]
        buffering.appendBigEndian(stream)
        try send(kind: 4, stream: 0, buffering + [0, 0, 0, 100])
    }

    /// Returns the next message of the stream, in the order of arrival.
    func next() throws(ProbeError) -> Message {
        while true {
            let (kind, timestamp, body) = try readMessage()
            switch kind {
            case 8, 9, 18: return Message(kind: kind, timestamp: timestamp, body: body)
            case 20: try noteStatus(AMF0.decodeAll(body))
            default: break
            }
        }
    }

    private func noteStatus(_ values: [AMF0]) throws(ProbeError) {
        guard values.first?.text == "onStatus", let information = values.last else { return }
        let code = information["code"]?.text ?? ""
        if code == "NetStream.Play.UnpublishNotify" { unpublished += 1 }
        if information["level"]?.text == "error" { throw .refused("the server refused to play: \(code)") }
    }

    private func answer(to transaction: Double, what: String) throws(ProbeError) -> [AMF0] {
        while true {
            let (kind, _, body) = try readMessage()
            guard kind == 20 else { continue }
            let values = AMF0.decodeAll(body)
            guard values.count > 1, values[1] == .number(transaction) else { continue }
            guard values[0].text == "_result" else { throw .refused("the server refused to \(what)") }
            return values
        }
    }

    private func shakeHands() throws(ProbeError) {
        let random = (0..<1528).map { _ in UInt8.random(in: 0...255) }
        try socket.write([3, 0, 0, 0, 0, 0, 0, 0, 0] + random)
        let answer = try socket.read(1 + 1536, timeout: 10)
        guard answer[0] == 3 else { throw .malformed("not an RTMP server (version \(answer[0]))") }
        try socket.write(Array(answer[1...]))
        _ = try socket.read(1536, timeout: 10)
    }

    // MARK: Chunks

    private func readMessage() throws(ProbeError) -> (kind: UInt8, timestamp: UInt32, body: [UInt8]) {
        while true {
            guard let message = try readChunk() else { continue }
            if socket.received - acknowledged >= acknowledgeEvery {
                acknowledged = socket.received
                var total: [UInt8] = []
                total.appendBigEndian(UInt32(truncatingIfNeeded: acknowledged))
                try send(kind: 3, stream: 0, total)
            }
            let body = message.body
            switch (message.kind, body.bigEndian(Int.self, at: 0, bytes: 4)) {
            case (1, let size?): chunkSize = max(1, size & 0x7FFF_FFFF)
            case (5, let window?): acknowledgeEvery = max(1, window / 2)
            case (4, _) where body.count >= 6 && body[1] == 6:
                // Ping: send the same 4 bytes back.
                try send(kind: 4, stream: 0, [0, 7] + body[2..<6])
            default: return message
            }
        }
    }

    private func readChunk() throws(ProbeError) -> (kind: UInt8, timestamp: UInt32, body: [UInt8])? {
        let first = try socket.read(1)[0]
        var id = Int(first & 63)
        if id < 2 {
            let more = try socket.read(id + 1)
            id = 64 + Int(more[0]) + (id == 1 ? Int(more[1]) << 8 : 0)
        }
        guard streams[id] != nil || streams.count < RTMPPlayer.mostStreams else {
            throw .malformed("more than \(RTMPPlayer.mostStreams) chunk streams")
        }
        var stream = streams[id] ?? ChunkStream()
        let format = first >> 6
        let header = try socket.read([11, 7, 3, 0][Int(format)])
        if let field = header.bigEndian(UInt32.self, at: 0, bytes: 3) {
            stream.delta = field
            stream.isExtended = field == 0xFF_FFFF
        }
        if let length = header.bigEndian(Int.self, at: 3, bytes: 3) {
            stream.length = length
            stream.kind = header[6]
        }
        if stream.isExtended {
            let extended = try socket.read(4).bigEndian(UInt32.self, at: 0)
            if format < 3, let extended { stream.delta = extended }
        }
        if stream.partial.isEmpty {
            if format == 0 {
                stream.timestamp = stream.delta
                stream.delta = 0
            } else {
                stream.timestamp &+= stream.delta
            }
        }
        guard stream.length >= stream.partial.count else {
            throw .malformed("a message became shorter while it was received")
        }
        stream.partial += try socket.read(min(chunkSize, stream.length - stream.partial.count))
        let isComplete = stream.partial.count == stream.length
        let message = (stream.kind, stream.timestamp, stream.partial)
        if isComplete { stream.partial = [] }
        streams[id] = stream
        return isComplete ? message : nil
    }

    private func command(stream: UInt32, _ values: [AMF0]) throws(ProbeError) {
        var body: [UInt8] = []
        for value in values { value.encode(into: &body) }
        try send(kind: 20, stream: stream, body)
    }

    private func send(kind: UInt8, stream: UInt32, _ body: [UInt8]) throws(ProbeError) {
        let id: UInt8 = kind == 20 ? 3 : 2
        var bytes: [UInt8] = [id, 0, 0, 0]
        bytes.appendBigEndian(body.count, bytes: 3)
        bytes.append(kind)
        bytes.appendBigEndian(stream.byteSwapped)
        // Our own chunk size stays at the 128 bytes that a connection starts with.
        for start in stride(from: 0, to: body.count, by: 128) {
            if start > 0 { bytes.append(0xC0 | id) }
            bytes += body[start..<min(start + 128, body.count)]
        }
        try socket.write(bytes)
    }
}
