import TestSupport
import Testing

@testable import MediaFormats
@testable import RTMP

/// The client's conversation, without a socket.
@Suite struct RTMPClientTests {
    private static let success: AMF0 = .object([
        .init(name: "level", value: .string("status")),
        .init(name: "code", value: .string("NetConnection.Connect.Success")),
    ])
    private static let serverPackets =
        [3] + [UInt8](repeating: 0x11, count: 1536) + [UInt8](repeating: 0x22, count: 1536)

    private func client(_ purpose: RTMPClient.Purpose = .play, url: String = "rtmp://h/app/name?key=k") throws
        -> RTMPClient
    {
        var random = SeededGenerator(seed: 1)
        return RTMPClient(purpose, try RTMPAddress(url), using: &random)
    }

    /// Returns the messages that a client sends after its handshake.
    private func messages(_ bytes: [UInt8]) throws -> [RTMPMessage] {
        var reader = RTMPChunkReader()
        return try reader.read(bytes[...])
    }

    private func commands(_ bytes: [UInt8]) throws -> [[AMF0]] {
        try messages(bytes).filter { $0.kind == .command }.map { AMF0.decodeAll($0.body) }
    }

    /// Returns a client whose server has accepted it as far as its stream, and the server.
    private func running(_ purpose: RTMPClient.Purpose = .play) throws -> (RTMPClient, RTMPPeer) {
        var client = try client(purpose)
        var peer = RTMPPeer()
        let bytes =
            Self.serverPackets + peer.command([.string("_result"), .number(1), .null, Self.success])
            + peer.command([.string("_result"), .number(4), .null, .number(1)])
            + peer.status(purpose == .play ? "NetStream.Play.Start" : "NetStream.Publish.Start")
        #expect(client.read(bytes[...]) == [.began])
        #expect(client.step == .running)
        _ = client.takeOutput()
        return (client, peer)
    }

    @Test func aPlayerSaysWhatTheSpecificationWants() throws {
        var client = try client()
        var peer = RTMPPeer()
        let greeting = client.takeOutput()
        #expect(greeting.count == 1537 && greeting[0] == 3 && greeting[1..<9].allSatisfy { $0 == 0 })
        #expect(Set(greeting[9...]).count > 100)
        // The echo is sent before the server's own has arrived.
        #expect(client.read(Self.serverPackets[..<1537]).isEmpty)
        #expect(client.takeOutput() == Array(Self.serverPackets[1..<1537]))
        #expect(client.read(Self.serverPackets[1537...]).isEmpty && client.step == .connect)
        let connect = try #require(try commands(client.takeOutput()).first)
        #expect(connect[0] == .string("connect") && connect[1] == .number(1))
        #expect(connect[2]["app"] == .string("app") && connect[2]["tcUrl"] == .string("rtmp://h/app"))
        let result = peer.command([.string("_result"), .number(1), .null, Self.success])
        #expect(client.read(result[...]).isEmpty && client.step == .createStream)
        #expect(try commands(client.takeOutput()) == [[.string("createStream"), .number(4), .null]])
        let created = peer.command([.string("_result"), .number(4), .null, .number(7)])
        #expect(client.read(created[...]).isEmpty && client.step == .start)
        let start = try messages(client.takeOutput())
        #expect(start.map(\.kind) == [.command, .userControl])
        #expect(start[0].stream == 7)
        #expect(
            AMF0.decodeAll(start[0].body) == [
                .string("play"), .number(0), .null, .string("name?key=k"), .number(-2),
            ])
        #expect(start[1].body == [0, 3, 0, 0, 0, 7, 0, 0, 0, 100])
        let status = peer.status("NetStream.Play.Start")
        #expect(client.read(status[...]) == [.began] && client.step == .running)
        #expect(client.takeOutput().isEmpty)
    }

    @Test func aPublisherTakesTheNameAndLargerChunks() throws {
        var client = try client(.publish)
        var peer = RTMPPeer()
        _ = client.read(
            (Self.serverPackets + peer.command([.string("_result"), .number(1), .null, Self.success]))[...])
        var reader = RTMPChunkReader()
        let sent = try reader.read(client.takeOutput()[(1537 + 1536)...])
        #expect(
            sent.filter { $0.kind == .command }.map { AMF0.decodeAll($0.body)[0].text }
                == ["connect", "releaseStream", "FCPublish", "createStream"])
        // The client asks the server for frequent acknowledgements: docs/adr/0022.
        #expect(sent.filter { $0.kind == .windowSize }.map(\.body) == [[0, 0, 0x80, 0]])
        _ = client.read(peer.command([.string("_error"), .number(2), .null, .null])[...])
        _ = client.read(peer.command([.string("_result"), .number(4), .null, .number(1)])[...])
        let publish = try reader.read(client.takeOutput()[...])
        #expect(
            publish.map { AMF0.decodeAll($0.body) } == [
                [.string("publish"), .number(0), .null, .string("name?key=k"), .string("live")]
            ])
        #expect(client.read(peer.status("NetStream.Publish.Start")[...]) == [.began])
        #expect(client.read(peer.message(.acknowledgement, RTMPPeer.number(70_000, 4), on: 2)[...]) == [.acknowledged])
    }

    /// The same conversation gives the same events and answers, however it is split.
    @Test func cutsChangeNothing() throws {
        var random = SeededGenerator(announcedFor: "RTMPClientTests.cutsChangeNothing")
        var peer = RTMPPeer()
        var bytes = Self.serverPackets
        bytes += peer.message(.windowSize, RTMPPeer.number(4000, 4), on: 2)
        bytes += peer.message(.peerBandwidth, RTMPPeer.number(5000, 4) + [2], on: 2)
        bytes += peer.message(.setChunkSize, RTMPPeer.number(1000, 4), on: 2)
        peer.chunkSize = 1000
        bytes += peer.command([.string("_result"), .number(1), .null, Self.success])
        bytes += peer.command([.string("_result"), .number(4), .null, .number(1)])
        bytes += peer.status("NetStream.Play.Reset")
        for index in 0..<20 {
            bytes += peer.message(
                index % 3 == 0 ? .audio : .video, [UInt8](repeating: UInt8(index), count: 6 + index * 150),
                timestamp: UInt32(index * 20), stream: 1, on: 6 + UInt32(index % 3))
            bytes += peer.message(.userControl, [0, 6, 0, 0, 0, UInt8(index)], on: 2)
        }
        bytes += peer.status("NetStream.Play.UnpublishNotify")
        var whole = try client()
        let events = whole.read(bytes[...])
        #expect(events.first == .began && events.last == .ended(.unpublished) && events.count == 22)
        for longest in [1, 7, 100, 3000] {
            var client = try client()
            var got: [RTMPClient.Event] = []
            var answers: [UInt8] = []
            for piece in rtmpPieces(bytes, longest: longest, using: &random) {
                got += client.read(piece)
                answers += client.takeOutput()
            }
            #expect(got == events)
            let kinds = try messages(Array(answers[(1537 + 1536)...])).map(\.kind)
            #expect(kinds.filter { $0 == .userControl }.count == 21)
            #expect(kinds.contains(.acknowledgement) && kinds.filter { $0 == .windowSize }.count == 1)
        }
    }

    @Test func aPingIsAnsweredWithItsOwnBytes() throws {
        var (client, peer) = try running()
        // A server's own events may have any length.
        for short in [[], [0], [0, 6], [0, 31, 1, 2]] as [[UInt8]] {
            #expect(client.read(peer.message(.userControl, short, on: 2)[...]).isEmpty)
        }
        #expect(client.step == .running && client.takeOutput().isEmpty)
        _ = client.read(peer.message(.userControl, [0, 6, 1, 2, 3, 4], on: 2)[...])
        #expect(try messages(client.takeOutput()).map(\.body) == [[0, 7, 1, 2, 3, 4]])
    }

    @Test func bytesAreAcknowledgedWithinTheWindow() throws {
        var (client, peer) = try running()
        _ = client.read(peer.message(.windowSize, RTMPPeer.number(10_000, 4), on: 2)[...])
        var told: [UInt32] = []
        let start = client.received
        for _ in 0..<30 {
            _ = client.read(peer.message(.video, [UInt8](repeating: 1, count: 1000), stream: 1, on: 6)[...])
            told += try messages(client.takeOutput()).compactMap { $0.body.bigEndian(UInt32.self, at: 0) }
        }
        #expect(told.count >= 5)
        let all = [UInt32(start)] + told
        for (one, next) in zip(all, told) { #expect(next > one && next - one <= 10_000) }
    }

    @Test func onlyWhatBelongsToTheStreamComesThrough() throws {
        var (client, peer) = try running()
        let cases: [(kind: RTMPMessage.Kind, body: [UInt8], stream: UInt32, comes: Bool)] = [
            (.video, [0x17, 1, 0, 0, 0, 9], 1, true), (.video, [0x17, 1, 0, 0, 0, 9], 2, false),
            (.video, [0x17, 2, 0, 0, 0], 1, false), (.audio, [0xAF, 1], 1, true), (.audio, [0xAF], 1, false),
            (.script, [2], 1, true), (.script, [], 1, false), (.extendedScript, [0, 2, 0, 0], 1, true),
            (.extendedScript, [3, 2], 1, false), (RTMPMessage.Kind(rawValue: 99), [1], 1, false),
        ]
        for (kind, body, stream, comes) in cases {
            let events = client.read(peer.message(kind, body, timestamp: 77, stream: stream, on: 6)[...])
            let got: RTMPMessage? = if case .media(let message)? = events.first { message } else { nil }
            let isExtended = kind == .extendedScript
            #expect(
                got
                    == (comes
                        ? RTMPMessage(
                            kind: isExtended ? .script : kind, timestamp: 77, stream: 1,
                            body: isExtended ? Array(body.dropFirst()) : body) : nil))
        }
    }

    @Test func anAggregateIsTakenApart() throws {
        var (client, peer) = try running()
        let parts = [
            RTMPMessage(kind: .video, timestamp: 5_000, stream: 1, body: [0x17, 1, 0, 0, 0, 9]),
            RTMPMessage(kind: .audio, timestamp: 5_021, stream: 1, body: [0xAF, 1, 2]),
        ]
        let body = parts.flatMap(\.flvTag)
        let events = client.read(peer.message(.aggregate, body, timestamp: 90_000, stream: 1, on: 6)[...])
        #expect(
            events
                == [
                    .media(RTMPMessage(kind: .video, timestamp: 90_000, stream: 1, body: parts[0].body)),
                    .media(RTMPMessage(kind: .audio, timestamp: 90_021, stream: 1, body: parts[1].body)),
                ])
        let cut = client.read(peer.message(.aggregate, Array(body.dropLast(6)), stream: 1, on: 6)[...])
        #expect(cut == [.ended(.malformed("an aggregate ends inside a tag"))])
    }

    @Test func aMessageIsTheBodyOfItsFLVTag() {
        let message = RTMPMessage(kind: .video, timestamp: 0x0102_0304, stream: 1, body: [0xAA, 0xBB])
        #expect(message.flvTag == [9, 0, 0, 2, 2, 3, 4, 1, 0, 0, 0, 0xAA, 0xBB, 0, 0, 0, 13])
    }

    @Test(arguments: [
        ("NetStream.Play.StreamNotFound", "error"), ("NetStream.Play.StreamNotFound", "status"),
        ("NetStream.Play.Failed", "error"), ("Anything.Else", "error"),
    ]) func whatCannotBePlayedIsSaidInTheServersWords(code: String, level: String) throws {
        var client = try client()
        var peer = RTMPPeer()
        _ = client.read(
            (Self.serverPackets + peer.command([.string("_result"), .number(1), .null, Self.success])
                + peer.command([.string("_result"), .number(4), .null, .number(1)]))[...])
        let events = client.read(peer.status(code, level: level, description: "no\u{7} such\nstream")[...])
        #expect(
            events == [.ended(.refused(.stream, "play a stream of application app", answer: "\(code): no suchstream"))])
        #expect(client.read(peer.status("NetStream.Play.Start")[...]).isEmpty)
    }

    @Test(arguments: [
        "NetStream.Play.UnpublishNotify", "NetStream.Play.Stop", "NetStream.Play.Complete",
    ]) func whenThePublisherLeavesThePlayEnds(code: String) throws {
        var (client, peer) = try running()
        #expect(client.read(peer.status(code)[...]) == [.ended(.unpublished)])
    }

    @Test func theEndOfTheStreamIsTheEnd() throws {
        var (client, peer) = try running()
        #expect(client.read(peer.message(.userControl, [0, 1, 0, 0, 0, 2], on: 2)[...]).isEmpty)
        #expect(client.read(peer.message(.userControl, [0, 1, 0, 0, 0, 1], on: 2)[...]) == [.ended(.unpublished)])
    }

    @Test func aRefusedConnectionSaysWhy() throws {
        var client = try client()
        var peer = RTMPPeer()
        let answer = peer.command([
            .string("_error"), .number(1), .null,
            .object([
                .init(name: "level", value: .string("error")),
                .init(name: "code", value: .string("NetConnection.Connect.Rejected")),
                .init(name: "description", value: .string("no licence")),
            ]),
        ])
        #expect(
            client.read((Self.serverPackets + answer)[...])
                == [
                    .ended(
                        .refused(
                            .application, "connect to application app",
                            answer: "NetConnection.Connect.Rejected: no licence"))
                ])
    }

    @Test func whoeverHasPublishedLeaves() throws {
        var (client, peer) = try running(.publish)
        client.leave()
        var reader = RTMPChunkReader()
        let goodbye = try reader.read((peer.message(.setChunkSize, [0, 0, 16, 0], on: 2) + client.takeOutput())[...])
        #expect(
            goodbye.map { AMF0.decodeAll($0.body) } == [
                [.string("FCUnpublish"), .number(5), .null, .string("name?key=k")],
                [.string("deleteStream"), .number(6), .null, .number(1)],
            ])
        #expect(client.read(peer.status("NetStream.Unpublish.Success")[...]) == [.ended(.closed)])
    }

    @Test func aNameThatIsTakenIsRefused() throws {
        var client = try client(.publish)
        var peer = RTMPPeer()
        _ = client.read(
            (Self.serverPackets + peer.command([.string("_result"), .number(1), .null, Self.success])
                + peer.command([.string("_result"), .number(4), .null, .number(1)]))[...])
        let events = client.read(peer.status("NetStream.Publish.BadName", level: "error")[...])
        #expect(
            events == [
                .ended(.refused(.stream, "accept a stream into application app", answer: "NetStream.Publish.BadName"))
            ])
    }

    @Test func aServerOfAnotherKindIsNamed() throws {
        for bytes in [[UInt8]("HTTP/1.1 400 Bad Request\r\n".utf8), [3] + [UInt8](repeating: 0xFF, count: 4000)] {
            var client = try client()
            #expect(client.read(bytes[...]) == [.ended(.notRTMP)])
            #expect(client.step == .ended)
        }
    }

    @Test func oversizedAndHollowCommandsEndTheConnection() throws {
        let cases: [(RTMPMessage.Kind, [UInt8], String)] = [
            (.command, [UInt8](repeating: 5, count: 70_000), "a command of 70000 bytes"),
            (.command, [5], "a command without a name"), (.command, [], "a command without a name"),
            (.windowSize, [1], "a window of 1 bytes"),
            (.peerBandwidth, [], "a bandwidth of 0 bytes"),
        ]
        for (kind, body, words) in cases {
            var (client, peer) = try running()
            #expect(client.read(peer.message(kind, body, on: 5)[...]) == [.ended(.malformed(words))])
        }
        for number in [0, -1, 0.5, .nan, .infinity, 1e20] as [Double] {
            var client = try client()
            var peer = RTMPPeer()
            let bytes =
                Self.serverPackets + peer.command([.string("_result"), .number(1), .null, Self.success])
                + peer.command([.string("_result"), .number(4), .null, .number(number)])
            #expect(client.read(bytes[...]) == [.ended(.malformed("it gave no stream number"))])
        }
    }

    /// A conversation with random faults either ends in an error or continues.
    @Test func nothingCrashesTheClient() throws {
        var random = SeededGenerator(announcedFor: "RTMPClientTests.nothingCrashesTheClient")
        var ends: Set<String> = []
        for _ in 0..<300 {
            var (client, peer) = try running(Bool.random(using: &random) ? .play : .publish)
            var bytes = peer.status("NetStream.Play.Reset")
            for index in 0..<10 {
                bytes += peer.message(.video, [UInt8](repeating: 1, count: index * 50), stream: 1, on: 6)
                bytes += peer.message(.aggregate, [8, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 12], stream: 1, on: 7)
                bytes += peer.message(.userControl, [0, 6, 0, 0, 0, 1], on: 2)
                bytes += peer.command([.string("onStatus"), .number(0), .array([.number(1), .null]), .object([])])
            }
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                bytes[.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            var events: [RTMPClient.Event] = []
            for piece in rtmpPieces(bytes, longest: 200, using: &random) { events += client.read(piece) }
            for event in events.dropLast() {
                if case .ended = event { Issue.record("\(event) is not the last event") }
            }
            if case .ended(let error)? = events.last { ends.insert(error.description) }
            #expect(client.takeOutput().count < 10_000)
        }
        #expect(ends.count > 2)
    }
}
