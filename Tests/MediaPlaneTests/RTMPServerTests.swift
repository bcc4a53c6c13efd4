import EncodedMedia
import TestSupport
import Testing

@testable import MediaFormats
@testable import RTMP

/// The server's conversation with our own client and with unknown ones, without a socket.
@Suite struct RTMPServerTests {
    /// A client and a server that exchange all bytes at once.
    struct Talk {
        var client: RTMPClient
        var server: RTMPServerSession
        var random = SeededGenerator(seed: 7)
        var ofClient: [RTMPClient.Event] = []
        var ofServer: [RTMPServerSession.Event] = []

        init(_ purpose: RTMPClient.Purpose, url: String = "rtmp://h/live/lobby__alice?token=t") throws {
            client = RTMPClient(purpose, try RTMPAddress(url), using: &random)
            server = RTMPServerSession(now: 0)
        }

        /// Exchanges bytes in pieces of a given size until neither side has more.
        mutating func run(piece: Int = .max, now: Int64 = 1) {
            while true {
                let up = client.takeOutput()
                var rest = up[...]
                while !rest.isEmpty {
                    let part = rest.prefix(piece)
                    ofServer += server.read(part, now: now, using: &random)
                    rest = rest.dropFirst(part.count)
                }
                let down = server.takeOutput()
                if !down.isEmpty { ofClient += client.read(down[...]) }
                if up.isEmpty, down.isEmpty { return }
            }
        }

        mutating func send(_ tag: FLVTag, now: Int64 = 2) {
            let writer = client.writer
            var bytes: [UInt8] = []
            writer.append(
                RTMPMessage.Kind(rawValue: tag.kind.rawValue), on: 6, timestamp: tag.timestamp, stream: client.stream,
                body: tag.body[...], to: &bytes)
            ofServer += server.read(bytes[...], now: now, using: &random)
        }
    }

    static let header = FLVTag(role: .sequenceHeader(.video), timestamp: 0, body: [0x17, 0, 0, 0, 0, 1, 2])
    static let picture = FLVTag(
        role: .frame(.video, isIDR: true), timestamp: 40, body: [0x17, 1, 0, 0, 0] + [UInt8](repeating: 9, count: 9000))

    @Test(arguments: [1, 7, 1000, Int.max]) func aClientPublishes(piece: Int) throws {
        var talk = try Talk(.publish)
        talk.run(piece: piece)
        var request = RTMPStreamRequest(kind: .publish, application: "live", name: "lobby__alice", query: "token=t")
        request.isOwnClient = true
        #expect(talk.ofServer == [.requested(request)])
        #expect(talk.ofClient.isEmpty, "nothing begins before the owner agrees")
        talk.server.accept(now: 1)
        talk.run(piece: piece)
        #expect(talk.ofClient == [.began])
        talk.ofServer = []
        talk.send(Self.header)
        talk.send(Self.picture)
        #expect(talk.ofServer == [.tag(Self.header), .tag(Self.picture)])
        talk.ofServer = []
        talk.client.leave()
        talk.run(piece: piece)
        #expect(talk.ofServer == [.left])
        #expect(talk.server.phase == .idle)
    }

    /// Headers of a publisher that does not wait are kept, as from nginx-rtmp's `push` and SRS's `forward`.
    @Test(arguments: [7, 5000, Int.max]) func headersOfAPublisherThatDoesNotWaitAreKept(piece: Int) throws {
        var talk = try Talk(.publish)
        talk.run()
        talk.ofServer = []
        let sound = FLVTag(role: .sequenceHeader(.audio), timestamp: 0, body: [0xAF, 0, 0x11, 0x90])
        let large = FLVTag(
            role: .frame(.video, isIDR: true), timestamp: 20,
            body: [0x17, 1, 0, 0, 0] + [UInt8](repeating: 9, count: 200_000))
        var other = Self.header
        other.body[5] = 7
        var bytes: [UInt8] = []
        for tag in [other, sound, Self.header, large] {
            talk.client.writer.append(
                RTMPMessage.Kind(rawValue: tag.kind.rawValue), on: 6, timestamp: tag.timestamp,
                stream: talk.client.stream, body: tag.body[...], to: &bytes)
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            talk.ofServer += talk.server.read(rest.prefix(piece), now: 2, using: &talk.random)
            rest = rest.dropFirst(piece)
        }
        #expect(talk.ofServer.isEmpty && talk.server.phase == .asking(.publish), "\(talk.server.phase)")
        talk.server.accept(now: 3)
        talk.send(Self.picture, now: 4)
        #expect(talk.ofServer == [.tag(sound), .tag(Self.header), .tag(Self.picture)])
        talk.ofServer = []
        talk.send(large, now: 5)
        #expect(talk.ofServer == [.tag(large)])
    }

    @Test func aClientPlays() throws {
        var talk = try Talk(.play, url: "rtmp://h/relay/default/lobby/alice/camera?relay=s")
        talk.run()
        #expect(
            talk.ofServer == [
                .requested(
                    RTMPStreamRequest(
                        kind: .play, application: "relay/default/lobby/alice", name: "camera", query: "relay=s"))
            ])
        talk.server.accept(now: 1)
        talk.run()
        let bytes = RTMPServerSession.encode(Self.picture, stream: talk.server.stream)
        talk.ofClient += talk.client.read(bytes[...])
        #expect(talk.ofClient.first == .began)
        guard case .media(let message)? = talk.ofClient.last else { return #expect(Bool(false), "no media") }
        #expect(message.body == Self.picture.body && message.timestamp == 40)
        talk.server.refuse(.unpublished)
        talk.run()
        #expect(talk.ofClient.last == .ended(.unpublished))
    }

    @Test func aRefusalHasItsWords() throws {
        for (purpose, status) in [
            (RTMPClient.Purpose.publish, RTMPStatus.badName("taken")), (.publish, .denied("no token")),
            (.play, .notFound("nobody publishes")),
        ] {
            var talk = try Talk(purpose)
            talk.run()
            talk.server.refuse(status)
            talk.run()
            guard case .ended(.refused(_, _, let answer))? = talk.ofClient.last else {
                Issue.record("not refused: \(talk.ofClient)")
                continue
            }
            #expect(answer == "\(status.code): \(status.words)")
            #expect(talk.server.phase == .over)
        }
    }

    @Test(arguments: [8, 772]) func aDigestIsAnsweredWithOne(offset: Int) throws {
        var random = SeededGenerator(seed: 3)
        var client = (0..<1536).map { _ in UInt8.random(in: 0...255, using: &random) }
        let place = offset + 4 + client[offset..<offset + 4].reduce(0) { $0 + Int($1) } % 728
        func code(_ bytes: [UInt8], _ key: [UInt8]) -> [UInt8] { TLSDigest.authenticationCode(of: bytes, key: key) }
        let words = "Genuine Adobe Flash Player 001", server = "Genuine Adobe Flash Media Server 001"
        client.replaceSubrange(
            place..<place + 32, with: code(Array(client[..<place] + client[(place + 32)...]), Array(words.utf8)))
        var handshake = RTMPServerHandshake()
        var bytes = ([3] + client)[...]
        let answer = try handshake.read(&bytes, using: &random)
        #expect(handshake.isDigested && !handshake.isDone && answer.count == 3073)
        let own = Array(answer[1..<1537])
        let found = offset + 4 + own[offset..<offset + 4].reduce(0) { $0 + Int($1) } % 728
        #expect(
            Array(own[found..<found + 32])
                == code(Array(own[..<found] + own[(found + 32)...]), Array(server.utf8)))
        var echo = [UInt8](repeating: 1, count: 1536)[...]
        #expect(try handshake.read(&echo, using: &random).isEmpty)
        #expect(handshake.isDone)
    }

    /// Known answer of RFC 4231, test case 2.
    @Test func authenticationCodesAreThoseOfTheStandard() {
        let code = TLSDigest.authenticationCode(of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
        #expect(
            code.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    // MARK: - Bounds

    @Test func nothingIsSentBeforeAWholeQuestion() {
        var random = SeededGenerator(seed: 1)
        var session = RTMPServerSession(now: 0)
        #expect(session.read(([3] + [UInt8](repeating: 5, count: 1535))[...], now: 1, using: &random).isEmpty)
        #expect(session.takeOutput().isEmpty)
        #expect(session.read([5], now: 1, using: &random).isEmpty)
        #expect(session.takeOutput().count == 3073, "twice as much as was asked, and nothing more")
        #expect(session.phase == .handshake)
    }

    @Test(arguments: [[UInt8](arrayLiteral: 6), Array("GET / HTTP/1.1\r\n".utf8), [0x16, 3, 1]])
    func whatIsNotRTMPEndsAtOnce(bytes: [UInt8]) {
        var random = SeededGenerator(seed: 1)
        var session = RTMPServerSession(now: 0)
        #expect(session.read(bytes[...], now: 1, using: &random) == [.over(.notRTMP)])
        #expect(session.takeOutput().isEmpty)
        #expect(session.read([3], now: 1, using: &random).isEmpty)
    }

    @Test func everyStepHasItsTime() throws {
        let limits = RTMPServerLimits()
        var random = SeededGenerator(seed: 1)
        // A byte now and then does not count as progress.
        var slow = RTMPServerSession(now: 0)
        for second in 1...4 { _ = slow.read([3], now: Int64(second) * 1_000_000_000, using: &random) }
        #expect(slow.deadline == limits.handshake)
        #expect(slow.passDeadline(now: limits.handshake) == [.over(.tooSlow("the handshake"))])

        var connected = RTMPServerSession(now: 0)
        _ = connected.read(Self.handshake, now: 1, using: &random)
        #expect(connected.deadline == limits.request)
        _ = connected.read(Self.command("connect", 1), now: 2, using: &random)
        #expect(connected.phase == .idle && connected.deadline == limits.request)
        #expect(connected.passDeadline(now: limits.request - 1).isEmpty)
        #expect(connected.passDeadline(now: limits.request) == [.over(.tooSlow("publish or play"))])

        var talk = try Talk(.publish)
        talk.run()
        talk.server.accept(now: 1)
        talk.run()
        talk.send(Self.picture, now: 5)
        #expect(talk.server.deadline == 5 + limits.silence)
        // Commands are not media.
        _ = talk.server.read(Self.command("_checkbw", 2, size: 4096), now: 100, using: &random)
        #expect(talk.server.deadline == 5 + limits.silence)
        #expect(talk.server.passDeadline(now: 5 + limits.silence) == [.over(.silent(seconds: 15))])
    }

    static let handshake = ([3] + [UInt8](repeating: 0, count: 3072))[...]

    static func command(
        _ name: String, _ transaction: Double, _ values: [AMF0] = [], stream: UInt32 = 0, size: Int = 128
    ) -> ArraySlice<UInt8> {
        var writer = RTMPChunkWriter()
        writer.chunkSize = size
        var body: [UInt8] = []
        for value in [AMF0.string(name), .number(transaction)] + values { value.encode(into: &body) }
        var bytes: [UInt8] = []
        writer.append(.command, on: 3, stream: stream, body: body[...], to: &bytes)
        return bytes[...]
    }

    /// Returns a session to which a client has connected without asking to publish or play.
    func connected() -> (RTMPServerSession, SeededGenerator) {
        var random = SeededGenerator(seed: 1)
        var session = RTMPServerSession(now: 0)
        _ = session.read(Self.handshake, now: 1, using: &random)
        _ = session.read(Self.command("connect", 1), now: 1, using: &random)
        _ = session.takeOutput()
        return (session, random)
    }

    @Test func theAcceptedCodecsAreAnnounced() {
        var random = SeededGenerator(seed: 1)
        var session = RTMPServerSession(now: 0)
        _ = session.read(Self.handshake, now: 1, using: &random)
        _ = session.read(Self.command("connect", 1), now: 1, using: &random)
        let answer = String(decoding: session.takeOutput(), as: UTF8.self)
        #expect(PublishedTag.fourCCs.allSatisfy { answer.contains($0) })
    }

    func fault(of events: [RTMPServerSession.Event]) -> String? {
        if case .over(.malformed(let words))? = events.last { words } else { nil }
    }

    @Test(arguments: [
        (FLVTag.Kind.video, [UInt8](arrayLiteral: 0x12, 0, 0, 0, 0), "Sorenson H.263"),
        (.video, [0x90] + Array("vvc1".utf8) + [1], "VVC"), (.video, [0x14, 0], "VP6"),
        (.audio, [0x1F, 0], "ADPCM"), (.audio, [0x90] + Array("Opus".utf8), "Opus"),
        (.audio, [0x3F, 0], "PCM"),
    ])
    func anotherCodecIsRefusedByName(kind: FLVTag.Kind, body: [UInt8], name: String) throws {
        var talk = try Talk(.publish)
        talk.run()
        talk.server.accept(now: 1)
        talk.run()
        talk.send(FLVTag(role: .frame(kind == .video ? .video : .audio, isIDR: false), timestamp: 0, body: body))
        guard case .over(.unsupported(let failure))? = talk.ofServer.last else {
            return #expect(Bool(false), "\(talk.ofServer)")
        }
        #expect(failure.description.contains(name))
        talk.run()
        guard case .ended(.refused(_, _, let answer))? = talk.ofClient.last else {
            return #expect(Bool(false), "\(talk.ofClient)")
        }
        #expect(answer.hasPrefix("NetStream.Publish.Denied") && answer.contains(name))
    }

    @Test func anythingIsSurvived() {
        var random = SeededGenerator(announcedFor: "RTMPServerTests.anythingIsSurvived")
        for _ in 0..<TestLength.of(short: 300, long: 20_000) {
            var (session, _) = connected()
            if Bool.random(using: &random) {
                _ = session.read(
                    Self.command("publish", 0, [.null, .string("a")], stream: 1), now: 1, using: &random)
                session.accept(now: 1)
            }
            for _ in 0..<8 {
                var bytes = (0..<Int.random(in: 1...200, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                if Bool.random(using: &random) {
                    bytes = Array(
                        Self.command(["play", "connect", "deleteStream", "x"].randomElement(using: &random) ?? "", 1))
                    let index = Int.random(in: 0..<bytes.count, using: &random)
                    bytes[index] ^= UInt8.random(in: 1...255, using: &random)
                }
                _ = session.read(bytes[...], now: 2, using: &random)
                #expect(session.takeOutput().count < 1 << 16)
            }
        }
    }
}
