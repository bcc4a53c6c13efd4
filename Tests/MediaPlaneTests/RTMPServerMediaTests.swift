import EncodedMedia
import TestSupport
import Testing

@testable import MediaFormats
@testable import RTMP

/// What the server makes of a publisher's bytes once it is accepted, without a socket.
@Suite struct RTMPServerMediaTests {
    private func publishing() throws -> RTMPServerTests.Talk {
        var talk = try RTMPServerTests.Talk(.publish)
        talk.run()
        talk.server.accept(now: 1)
        talk.run()
        talk.ofServer = []
        return talk
    }

    private static let tags = [
        FLVTag(role: .sequenceHeader(.video), timestamp: 5_000, body: [0x17, 0, 0, 0, 0, 1, 2]),
        FLVTag(role: .frame(.video, isIDR: true), timestamp: 5_000, body: RTMPServerTests.picture.body),
        FLVTag(role: .frame(.audio, isIDR: false), timestamp: 5_021, body: [0xAF, 1, 2]),
    ]

    private func aggregate(of body: [UInt8], to talk: RTMPServerTests.Talk) -> [UInt8] {
        var bytes: [UInt8] = []
        talk.client.writer.append(
            .aggregate, on: 6, timestamp: 90_000, stream: talk.client.stream, body: body[...], to: &bytes)
        return bytes
    }

    /// The times of an aggregate's tags are relative to the aggregate's own (§7.1.6).
    @Test(arguments: [1, 7, 1000, Int.max]) func anAggregateIsTakenApart(piece: Int) throws {
        var talk = try publishing()
        var rest = aggregate(of: Self.tags.flatMap(\.encoded), to: talk)[...]
        while !rest.isEmpty {
            let part = rest.prefix(piece)
            talk.ofServer += talk.server.read(part, now: 2, using: &talk.random)
            rest = rest.dropFirst(part.count)
        }
        let expected = Self.tags.map { FLVTag(role: $0.role, timestamp: $0.timestamp + 85_000, body: $0.body) }
        #expect(talk.ofServer == expected.map { RTMPServerSession.Event.tag($0) })
        #expect(talk.server.phase == .publishing)
    }

    @Test func anAggregateThatEndsTooEarlyIsMalformed() throws {
        var talk = try publishing()
        let bytes = aggregate(of: Array(Self.tags.flatMap(\.encoded).dropLast(6)), to: talk)
        talk.ofServer += talk.server.read(bytes[...], now: 2, using: &talk.random)
        #expect(talk.ofServer == [.over(.malformed("an aggregate ends inside a tag"))])
    }

    /// Bytes are acknowledged twice in each window that the client names, but not before 64 KiB have come (§5.4.3, §5.4.4).
    @Test func bytesAreAcknowledgedInEachWindow() throws {
        var talk = try publishing()
        /// Sends a picture, and returns what the server sends then.
        func answer(toBytes count: Int) -> [UInt8] {
            let body: [UInt8] = [0x17, 1, 0, 0, 0] + [UInt8](repeating: 9, count: count)
            talk.send(FLVTag(role: .frame(.video, isIDR: true), timestamp: 0, body: body))
            return talk.server.takeOutput()
        }
        func acknowledgement() -> [UInt8] {
            var bytes: [UInt8] = []
            RTMPChunkWriter().append(
                .acknowledgement, on: 2, body: bigEndianBytes(talk.server.received, 4)[...], to: &bytes)
            return bytes
        }
        // The client of this test has named 32 KiB.
        #expect(answer(toBytes: 40_000).isEmpty)
        #expect(answer(toBytes: 40_000) == acknowledgement())
        #expect(answer(toBytes: 40_000).isEmpty)
        var window: [UInt8] = []
        RTMPChunkWriter().append(.windowSize, on: 2, body: bigEndianBytes(1_000_000, 4)[...], to: &window)
        var random = SeededGenerator(seed: 1)
        _ = talk.server.read(window[...], now: 2, using: &random)
        #expect(answer(toBytes: 300_000).isEmpty)
        #expect(answer(toBytes: 200_000) == acknowledgement())
    }
}
