import EncodedMedia
import Foundation
import MediaFormats
import Testing

@testable import RTMP
@testable import StreamIngest

/// Requests for keyframes on the way from a player through the server to a publisher.
struct KeyframeRequestTests {
    /// A client and the server of its connection.
    private struct Pair {
        var client: RTMPClient
        var server = RTMPServerSession(now: 0)
        var random = SystemRandomNumberGenerator()
        var atClient: [RTMPClient.Event] = []
        var atServer: [RTMPServerSession.Event] = []
        var sent: [UInt8] = []

        init(_ purpose: RTMPClient.Purpose, takesKeyframeRequests: Bool = false) throws {
            client = RTMPClient(
                purpose, try RTMPAddress("rtmp://h/live/alice"), takesKeyframeRequests: takesKeyframeRequests,
                using: &random)
            exchange()
            server.accept(now: 0)
            exchange()
        }

        mutating func exchange() {
            while true {
                let (up, down) = (client.takeOutput(), server.takeOutput())
                if up.isEmpty, down.isEmpty { return }
                sent += up
                atServer += server.read(up[...], now: 0, using: &random)
                atClient += client.read(down[...])
            }
        }
    }

    private static let word = Array("eyframeRequest".utf8)

    @Test func aPlayersRequestReachesTheServer() throws {
        var player = try Pair(.play)
        #expect(player.server.phase == .playing && player.client.takesKeyframeRequests)
        player.atServer = []
        player.client.requestKeyframe()
        player.exchange()
        #expect(player.atServer == [.keyframeWanted])
    }

    @Test func aPublisherThatSaysSoIsAsked() throws {
        var publisher = try Pair(.publish, takesKeyframeRequests: true)
        #expect(publisher.server.phase == .publishing && publisher.server.takesKeyframeRequests)
        publisher.server.requestKeyframe()
        publisher.exchange()
        #expect(publisher.atClient.last == .keyframeRequested)
        publisher.client.requestKeyframe()
        #expect(publisher.client.takeOutput().isEmpty, "a publisher asks nobody")
    }

    @Test func manyPlayersAskOnce() {
        let stream = RelayedStream()
        #expect(!stream.passesKeyframeRequest(now: 0), "no player needs one")
        stream.wantKeyframe()
        #expect(stream.passesKeyframeRequest(now: 0))
        #expect(!stream.passesKeyframeRequest(now: RelayedStream.keyframePause), "it was forwarded")
    }

    /// A request that comes soon after another player's waits, unless a keyframe comes first.
    @Test func aRequestThatComesTooSoonWaits() {
        let stream = RelayedStream()
        func take(isIDR: Bool) {
            let tag = FLVTag(role: .frame(.video, isIDR: isIDR), timestamp: 0, body: [0x17, 1, 0, 0, 0])
            stream.take(tag, cacheBytes: 1 << 20, now: 0)
        }
        stream.wantKeyframe()
        #expect(stream.passesKeyframeRequest(now: 0))
        take(isIDR: true)
        stream.wantKeyframe()
        #expect(!stream.passesKeyframeRequest(now: RelayedStream.keyframePause - 1))
        take(isIDR: false)
        #expect(stream.passesKeyframeRequest(now: RelayedStream.keyframePause))
        stream.wantKeyframe()
        take(isIDR: true)
        #expect(!stream.passesKeyframeRequest(now: 2 * RelayedStream.keyframePause))
    }

    @Test func othersSeeNothingOfIt() throws {
        var publisher = try Pair(.publish)
        #expect(publisher.sent.firstRange(of: Self.word) == nil && !publisher.server.takesKeyframeRequests)
        publisher.server.requestKeyframe()
        #expect(publisher.server.takeOutput().isEmpty)
        // This server has announced nothing.
        var random = SystemRandomNumberGenerator()
        var client = RTMPClient(.play, try RTMPAddress("rtmp://h/live/alice"), using: &random)
        _ = client.takeOutput()
        client.requestKeyframe()
        #expect(client.takeOutput().isEmpty)
    }

    @Test func aRequestOfAPublisherIsNone() throws {
        var publisher = try Pair(.publish, takesKeyframeRequests: true)
        var body: [UInt8] = []
        for value in [AMF0.string("requestKeyframe"), .number(0), .null] { value.encode(into: &body) }
        var bytes: [UInt8] = []
        publisher.client.writer.append(.command, on: 8, stream: 1, body: body[...], to: &bytes)
        var random = SystemRandomNumberGenerator()
        #expect(publisher.server.read(bytes[...], now: 0, using: &random) == [])
    }
}
