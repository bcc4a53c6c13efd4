import MediaFormats
import TestSupport

@testable import RTMP

/// What an RTMP server says, after the handshake. The first byte says whether it is played or published to.
enum RTMPTarget: FuzzTarget {
    static let name = "rtmp"

    static var seeds: [[UInt8]] {
        let success = AMF0.object([
            .init(name: "level", value: .string("status")),
            .init(name: "code", value: .string("NetConnection.Connect.Success")),
        ])
        func status(_ code: String) -> AMF0 {
            .object([.init(name: "level", value: .string("status")), .init(name: "code", value: .string(code))])
        }
        return ["NetStream.Play.Start", "NetStream.Publish.Start"].enumerated().map { number, code in
            var bytes = [UInt8(number)]
            let writer = RTMPChunkWriter()
            func append(_ values: [AMF0]) {
                let body = values.reduce(into: []) { $1.encode(into: &$0) }
                writer.append(.command, on: 3, body: body[...], to: &bytes)
            }
            writer.append(.windowSize, on: 2, body: [0, 0x26, 0x25, 0xA0], to: &bytes)
            writer.append(.userControl, on: 2, body: [0, 6, 0, 0, 0, 9], to: &bytes)
            append([.string("_result"), .number(1), .null, success])
            append([.string("_result"), .number(4), .null, .number(1)])
            append([.string("onStatus"), .number(0), .null, status(code)])
            writer.append(.audio, on: 4, timestamp: 0x1FF_FFFF, stream: 1, body: [0xAF, 1, 0x21, 0x22], to: &bytes)
            let picture = [UInt8](repeating: 0x17, count: 300)
            writer.append(.video, on: 4, timestamp: 40, stream: 1, body: picture[...], to: &bytes)
            return bytes
        }
    }

    /// A client that plays and one that publishes, after the handshake.
    private static let clients: [RTMPClient] = {
        guard let address = try? RTMPAddress("rtmp://127.0.0.1/live/a") else { return [] }
        return [RTMPClient.Purpose.play, .publish].map { purpose in
            var random = SeededGenerator(seed: 1)
            var client = RTMPClient(purpose, address, using: &random)
            _ = client.read(([3] + [UInt8](repeating: 0x11, count: 2 * 1536))[...])
            return client
        }
    }()

    static func run(_ bytes: [UInt8]) {
        guard let first = bytes.first, !clients.isEmpty else { return }
        var client = clients[Int(first) % clients.count]
        _ = client.read(bytes.dropFirst())
        require(client.takeOutput().count < 1 << 20, "answers without end")
        // Wherever a stream is cut, it is the same.
        var whole = RTMPChunkReader()
        var cut = RTMPChunkReader()
        guard let messages = try? whole.read(bytes.dropFirst()) else { return }
        var pieces: [RTMPMessage] = []
        var rest = bytes.dropFirst()
        let size = Int(first) + 1
        while !rest.isEmpty {
            guard let some = try? cut.read(rest.prefix(size)) else { return require(false, "an error when cut") }
            pieces += some
            rest = rest.dropFirst(size)
        }
        require(pieces == messages, "\(pieces.count) messages when cut, otherwise \(messages.count)")
        for message in messages where message.kind == .aggregate { _ = try? message.parts() }
    }
}
