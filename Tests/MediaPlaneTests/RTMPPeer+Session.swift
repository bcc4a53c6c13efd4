@testable import MediaFormats
@testable import RTMP

extension RTMPPeer {
    /// Returns the bytes that a server sends to a player of its stream, up to the first message of the stream.
    mutating func session() -> [UInt8] {
        let success: AMF0 = .object([
            .init(name: "level", value: .string("status")),
            .init(name: "code", value: .string("NetConnection.Connect.Success")),
        ])
        return [3] + [UInt8](repeating: 0x11, count: 1536) + [UInt8](repeating: 0x22, count: 1536)
            + command([.string("_result"), .number(1), .null, success])
            + command([.string("_result"), .number(4), .null, .number(1)]) + status("NetStream.Play.Start")
    }

    /// Returns the same sound `count` times, each `step` ms later than the previous one.
    mutating func sound(_ body: [UInt8], step: UInt32, count: Int, from timestamp: inout UInt32) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<count {
            timestamp &+= step
            bytes += message(.audio, body, timestamp: timestamp, stream: 1, on: 4)
        }
        return bytes
    }
}
