import MediaFormats
import TestSupport
import Testing

@testable import RTMP
@testable import StreamIngest

/// The request to reconnect between our client and our server, without a socket.
@Suite struct ReconnectTalkTests {
    private struct Talk {
        var client: RTMPClient
        var server = RTMPServerSession(now: 0)
        var random = SeededGenerator(seed: 3)
        var ofClient: [RTMPClient.Event] = []
        var ofServer: [RTMPServerSession.Event] = []
        var commands: [String] = []
        private var reader = RTMPChunkReader()
        private var handshake = 1 + 2 * 1536

        init(
            _ purpose: RTMPClient.Purpose = .publish, takesReconnectRequests: Bool = true, waits: Bool = false
        ) throws {
            client = RTMPClient(
                purpose, try RTMPAddress("rtmp://h/live/alice"), takesReconnectRequests: takesReconnectRequests,
                waitsToPublish: waits, using: &random)
            exchange()
        }

        mutating func exchange() {
            while true {
                let (up, down) = (client.takeOutput(), server.takeOutput())
                if up.isEmpty, down.isEmpty { return }
                note(up)
                ofServer += server.read(up[...], now: 0, using: &random)
                ofClient += client.read(down[...])
            }
        }

        /// Keeps the names of the client's commands.
        private mutating func note(_ bytes: [UInt8]) {
            let skipped = min(handshake, bytes.count)
            handshake -= skipped
            let messages = (try? reader.read(bytes[skipped...])) ?? []
            commands += messages.filter { $0.kind == .command }.compactMap { AMF0.decodeAll($0.body).first?.text }
        }

        mutating func accept() {
            server.accept(now: 0)
            exchange()
        }
    }

    private static let request = ReconnectRequest(target: .reference("/other"), words: "an update")

    @Test func aPublisherThatSaysSoIsAsked() throws {
        var talk = try Talk()
        #expect(!talk.server.canBeAskedToReconnect, "it does not publish yet")
        talk.server.requestReconnect(Self.request)
        talk.exchange()
        #expect(talk.ofClient.isEmpty)
        talk.accept()
        #expect(talk.ofClient == [.began] && talk.server.canBeAskedToReconnect)
        talk.server.requestReconnect(Self.request)
        talk.exchange()
        #expect(talk.ofClient == [.began, .reconnectRequested(Self.request)])
        #expect(talk.client.step == .running && talk.server.phase == .publishing, "both go on")
    }

    @Test(arguments: [RTMPClient.Purpose.publish, .play]) func othersAreNotAsked(_ purpose: RTMPClient.Purpose) throws {
        var talk = try Talk(purpose, takesReconnectRequests: purpose == .play)
        talk.accept()
        #expect(!talk.server.canBeAskedToReconnect)
        talk.server.requestReconnect(Self.request)
        #expect(talk.server.takeOutput().isEmpty)
    }

    /// A client that has announced nothing, and one that plays, ignore it.
    @Test func aRequestThatWasNotAskedForIsIgnored() throws {
        var talk = try Talk(takesReconnectRequests: false)
        talk.accept()
        talk.server.takesReconnectRequests = true
        talk.server.requestReconnect(Self.request)
        talk.exchange()
        #expect(talk.ofClient == [.began] && talk.client.step == .running)
    }

    @Test func aRequestBeforeTheStreamIsKept() throws {
        var talk = try Talk()
        var peer = RTMPPeer()
        peer.chunkSize = RTMPServerSession.chunkSize
        for target in [ReconnectRequest.Target.same, .reference("/b")] {
            let bytes = peer.command(
                [.string("onStatus"), .number(0), .null, ReconnectRequest(target: target).information])
            #expect(talk.client.read(bytes[...]).isEmpty)
        }
        talk.accept()
        #expect(talk.ofClient == [.began, .reconnectRequested(ReconnectRequest(target: .reference("/b")))])
    }

    /// The server does not know the name, which another connection may have, before the client publishes.
    @Test func aClientThatWaitsNamesItsStreamLate() throws {
        var talk = try Talk(waits: true)
        #expect(talk.client.step == .prepared && talk.ofClient == [.prepared])
        #expect(talk.commands == ["connect", "createStream"])
        #expect(talk.ofServer.isEmpty && talk.server.phase == .idle)
        talk.client.publish()
        talk.exchange()
        #expect(talk.commands == ["connect", "createStream", "releaseStream", "FCPublish", "publish"])
        #expect(talk.server.phase == .asking(.publish))
        talk.client.publish()
        #expect(talk.client.takeOutput().isEmpty, "once")
        talk.accept()
        #expect(talk.ofClient == [.prepared, .began] && talk.client.step == .running)
    }

    @Test func aRoundAsksSomePublishersAtATime() {
        var round = ReconnectRound()
        #expect(round.next() == [])
        #expect(!round.isUnderWay)
        round.begin(Array((1...20).reversed()))
        #expect(round.count == 20)
        #expect(round.next() == Array(1...8))
        let left = [3, 20, 3, 99].map { round.left($0) }
        #expect(left == [true, true, false, false])
        #expect(round.next() == Array(9...16))
        #expect(round.isUnderWay)
        #expect(round.next() == [17, 18, 19])
        #expect(!round.isUnderWay)
        #expect(round.count == 18)
        round.begin([5])
        #expect(round.count == 1)
        #expect(round.next() == [5], "a later round asks again")
    }
}
