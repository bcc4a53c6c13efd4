import TestSupport
import Testing
import TextFormats

@testable import MediaFormats
@testable import RTMP

/// Limits of a connection: items that are too many or too large.
extension RTMPServerTests {
    @Test func aConnectionMayNotHaveManyOfAnything() {
        var (streams, random) = connected()
        for number in 1...8 {
            #expect(streams.read(Self.command("createStream", Double(number)), now: 1, using: &random).isEmpty)
        }
        #expect(
            fault(of: streams.read(Self.command("createStream", 9), now: 1, using: &random)) == "more than 8 streams")

        var (calls, _) = connected()
        for _ in 1..<200 { #expect(calls.read(Self.command("_checkbw", 2), now: 1, using: &random).isEmpty) }
        #expect(
            fault(of: calls.read(Self.command("_checkbw", 2), now: 1, using: &random))
                == "more than 200 commands in 10 s")
        var (calm, _) = connected()
        for second in 1...300 {
            let now = Int64(second) * 1_000_000_000
            #expect(calm.read(Self.command("_checkbw", 2), now: now, using: &random).isEmpty)
        }

        var (second, _) = connected()
        let name: [AMF0] = [.null, .string("a")]
        #expect(second.read(Self.command("publish", 0, name, stream: 1), now: 1, using: &random).count == 1)
        #expect(
            fault(of: second.read(Self.command("publish", 0, name, stream: 2), now: 1, using: &random))
                == "a second stream on one connection")
    }

    @Test func sizesHaveLimits() throws {
        func promise(_ length: Int, of kind: UInt8 = 9, chunkSize: UInt32? = nil) -> ArraySlice<UInt8> {
            var bytes: [UInt8] = []
            if let chunkSize { bytes += [2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0] + RTMPPeer.number(chunkSize, 4) }
            bytes += [4, 0, 0, 0] + RTMPPeer.number(UInt32(length), 3) + [kind, 1, 0, 0, 0]
            return bytes[...]
        }
        var (large, random) = connected()
        #expect(large.read(promise(1 << 16, of: 20), now: 1, using: &random).isEmpty)
        (large, _) = connected()
        #expect(
            fault(of: large.read(promise(1 << 16 + 1, of: 20), now: 1, using: &random)) == "a message of 65537 bytes",
            "before anybody has agreed, a message is a command")
        (large, _) = connected()
        #expect(large.read(promise(1 << 16 + 1), now: 1, using: &random).isEmpty, "or media, of which nothing is kept")
        var (chunks, _) = connected()
        #expect(chunks.read(promise(1, chunkSize: 10 << 20), now: 1, using: &random).isEmpty)
        (chunks, _) = connected()
        #expect(
            fault(of: chunks.read(promise(1, chunkSize: 10 << 20 + 1), now: 1, using: &random))
                == "a chunk size of 10485761")
        var talk = try Talk(.publish)
        talk.run()
        talk.server.accept(now: 1)
        talk.run()
        var other = talk
        #expect(talk.server.read(promise(8 << 20), now: 1, using: &random).isEmpty)
        #expect(
            fault(of: other.server.read(promise(8 << 20 + 1), now: 1, using: &random)) == "a message of 8388609 bytes")
    }

    @Test func namesHaveLimits() throws {
        for (name, isGood) in [
            ("", false), (String(repeating: "a", count: 512), true),
            (String(repeating: "a", count: 513), false), ("a?" + String(repeating: "q", count: 2049), false),
        ] {
            var (session, random) = connected()
            let events = session.read(
                Self.command("publish", 0, [.null, .string(name)], stream: 1), now: 1, using: &random)
            if case .requested? = events.first { #expect(isGood) } else { #expect(!isGood && events.count == 1) }
            let answer = String(decoding: session.takeOutput(), as: UTF8.self)
            #expect(answer.contains("NetStream.Publish.BadName") == !isGood)
        }
    }

    /// The names of an app, a room and a participant have at most 128 bytes each.
    @Test func aRelayMayAskForTheLongestNames() throws {
        let name = PercentEncoding.encoded(String(repeating: "\u{76F4}", count: 42) + "ab")
        var talk = try Talk(.play, url: "rtmp://h/relay/\(name)/\(name)/\(name)/camera?relay=s")
        talk.run()
        guard case .requested(let request)? = talk.ofServer.first else {
            return #expect(Bool(false), "\(talk.ofServer)")
        }
        #expect(request.application == "relay/\(name)/\(name)/\(name)")
    }

    @Test func metadataHasItsSizeAndItsPace() throws {
        var talk = try Talk(.publish)
        talk.run()
        talk.server.accept(now: 1)
        talk.run()
        func metadata(_ size: Int, at now: Int64) -> Int {
            var body: [UInt8] = []
            AMF0.string("@setDataFrame").encode(into: &body)
            AMF0.string("onMetaData").encode(into: &body)
            AMF0.ecmaArray([.init(name: "x", value: .string(String(repeating: "y", count: size)))]).encode(into: &body)
            var bytes: [UInt8] = []
            talk.client.writer.append(.script, on: 4, stream: 1, body: body[...], to: &bytes)
            var random = SeededGenerator(seed: 1)
            return talk.server.read(bytes[...], now: now, using: &random).count
        }
        #expect(metadata(100, at: 10) == 1)
        #expect(metadata(100, at: 20) == 0, "not twice in a second")
        #expect(metadata(100, at: 1_000_000_010) == 1)
        #expect(metadata(1 << 14, at: 3_000_000_000) == 0, "too large")
        #expect(talk.server.phase == .publishing, "and harmless")
    }

    /// A publisher that shows nothing for now keeps its place, and viewers learn of that at once.
    @Test func aPausedPublisherIsNotLost() throws {
        var talk = try Talk(.publish)
        talk.run()
        talk.server.accept(now: 1)
        talk.run()
        let silence = talk.server.limits.silence
        func metadata(isPaused: Bool) -> FLVTag {
            var metadata = FLVMetadata(video: nil, audio: nil, framesPerSecond: nil)
            metadata.isPaused = isPaused
            return FLVTag(role: .metadata, timestamp: 0, body: metadata.body)
        }
        let (running, paused) = (metadata(isPaused: false), metadata(isPaused: true))
        for (tag, count) in [(running, 1), (paused, 1), (paused, 0), (running, 1), (running, 0)] {
            talk.ofServer = []
            talk.send(tag, now: 5)
            #expect(talk.ofServer == Array(repeating: .tag(tag), count: count))
        }
        talk.send(running, now: silence)
        #expect(talk.server.deadline == 5 + silence, "metadata alone is no sign of life")
        for round in Int64(3)...20 {
            talk.ofServer = []
            talk.send(paused, now: round * silence / 2)
            #expect(talk.ofServer == [.tag(paused)])
            #expect(talk.server.deadline == (round + 2) * silence / 2)
        }
    }

    /// Whoever alternates between a pause and its end does not flood the players.
    @Test func pausesHaveTheirSizeAndTheirPace() throws {
        var talk = try Talk(.publish)
        talk.run()
        talk.server.accept(now: 1)
        talk.run()
        var metadata = FLVMetadata(video: nil, audio: nil, framesPerSecond: nil)
        let running = FLVTag(role: .metadata, timestamp: 0, body: metadata.body)
        metadata.isPaused = true
        let paused = FLVTag(role: .metadata, timestamp: 0, body: metadata.body)
        let second: Int64 = 1_000_000_000
        talk.ofServer = []
        for round in Int64(0)..<100 {
            talk.send(paused, now: second + 2 * round)
            talk.send(running, now: second + 2 * round + 1)
        }
        #expect(talk.ofServer.count == 1 + talk.server.limits.earlyMetadata)
        talk.ofServer = []
        for round in Int64(2)...4 { talk.send(running, now: 2 * round * second) }
        #expect(talk.ofServer == Array(repeating: .tag(running), count: 3))

        // A notice is small, and what is larger is not searched.
        let property = AMF0.Property(name: "paused", value: .boolean(true))
        let filling = AMF0.Property(name: "x", value: .string(String(repeating: "y", count: 1 << 10)))
        var large: [UInt8] = []
        AMF0.string("onMetaData").encode(into: &large)
        AMF0.ecmaArray([property, filling]).encode(into: &large)
        #expect(FLVMetadata.isPaused(large))
        let deadline = talk.server.deadline
        talk.ofServer = []
        talk.send(FLVTag(role: .metadata, timestamp: 0, body: large), now: 8 * second + 1)
        #expect(talk.ofServer.isEmpty && talk.server.deadline == deadline)
    }
}
