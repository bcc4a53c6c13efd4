import ChildProcesses
import EncodedMedia
import Foundation
import GStreamerKit
import MediaFormats
import MixModel
import TestSupport
import Testing

@testable import RTMP

/// The real process, with real senders and players.
@Suite(.serialized, .timeLimit(.minutes(8))) struct IngestServerTests {
    @Test(arguments: [44_100, 48_000]) func whatFFmpegPublishesIsPlayed(rate: Int) async throws {
        let rig = try await IngestRig.start()
        defer { rig.stop() }
        // A relay may connect before the publisher begins.
        let early = try IngestPlayer(rig.pullURL("alice"))
        #expect(try await outputEventually { early.progress.hasBegun }, "\(rig.account)")
        let publisher = try rig.publish("alice", rate: rate)
        #expect(try await outputEventually { early.frames > 30 }, "\(rig.account)")
        // ffmpeg decodes it as a player, beside the others.
        async let decoded = outputTool(
            "/usr/bin/env",
            ["ffmpeg", "-v", "error", "-xerror", "-i", rig.pullURL("alice"), "-t", "1", "-f", "null", "-"])
        #expect(try await outputEventually { early.frames > 75 }, "\(rig.account)")
        let late = try IngestPlayer(rig.pullURL("alice"))
        #expect(try await outputEventually { late.frames > 20 }, "\(rig.account)")
        for player in [early, late] {
            let tags = player.progress.tags
            #expect(tags.first?.kind == .script)
            #expect(tags.first { $0.kind == .video }?.head.prefix(2) == [0x17, 0])
            #expect(tags.first { $0.kind == .audio }?.head.prefix(2) == [0xAF, 0])
            let pictures = tags.filter { $0.kind == .video && $0.head.dropFirst().first == 1 }
            #expect(pictures.first?.head.first == 0x17, "a player begins with a keyframe")
            #expect(zip(pictures, pictures.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
            #expect(Set(pictures.map { Array($0.head[2..<5]) }).count > 1, "there are B-frames")
        }
        #expect(try await decoded == 0)
        #expect(publisher.isRunning, "ffmpeg would end with an error")
        // The publisher finishes its stream.
        publisher.signal(SIGTERM)
        #expect(try await outputEventually { rig.ended("alice") == 1 }, "\(rig.account)")
        #expect(try await outputEventually { early.progress.end?.kind == .unpublished }, "\(rig.account)")
        publisher.waitForExit()
        for player in [early, late] { player.stop() }
    }

    /// `rtmpsink` speaks through librtmp, the library of OBS and of many encoders.
    @Test(arguments: ["rtmp2sink", "rtmpsink"]) func whatGStreamerPublishesIsPlayed(sink: String) async throws {
        let rig = try await IngestRig.start()
        defer { rig.stop() }
        try GStreamerRuntime.start()
        let pipeline = try Pipeline(
            "videotestsrc is-live=true ! video/x-raw,width=320,height=240,framerate=20/1 ! x264enc tune=zerolatency "
                + "key-int-max=40 ! flvmux streamable=true name=mux ! \(sink) location=\(rig.publishURL("gst")) "
                + "audiotestsrc is-live=true ! avenc_aac ! mux.", name: "publisher")
        try await pipeline.play()
        let player = try IngestPlayer(rig.pullURL("gst"))
        #expect(try await outputEventually { player.frames > 40 }, "\(rig.account)")
        await pipeline.tearDown()
        #expect(
            try await outputEventually { player.progress.end != nil || rig.interrupted("gst") == 1 }, "\(rig.account)")
        player.stop()
    }

    @Test func whoIsNotLetInIsToldWhy() async throws {
        let rig = try await IngestRig.start()
        defer { rig.stop() }
        for (url, purpose, words) in [
            (rig.publishURL("bad-one"), RTMPClient.Purpose.publish, "NetStream.Publish.Denied: not this one"),
            (rig.pullURL("alice").dropLast() + "x", .play, "NetStream.Play.Failed: only relays of the service"),
        ] as [(String, RTMPClient.Purpose, String)] {
            let client = try IngestPlayer(url, as: purpose)
            #expect(try await outputEventually { client.progress.end != nil }, "\(rig.account)")
            #expect(client.progress.end?.words.contains(words) == true, "\(client.progress.end?.words ?? "")")
            client.stop()
        }
        // A service that does not answer.
        rig.holdAnswers()
        let start = ContinuousClock.now
        let client = try IngestPlayer(rig.publishURL("alice"), as: .publish)
        #expect(try await outputEventually { client.progress.end != nil }, "\(rig.account)")
        #expect(client.progress.end?.words.contains("did not answer within 8 s") == true)
        #expect(ContinuousClock.now - start > .seconds(7))
        client.stop()
    }

    @Test func aPublisherOfAnotherCodecIsOutAtOnce() async throws {
        let rig = try await IngestRig.start(grace: 300)
        defer { rig.stop() }
        let publisher = RawClient(port: rig.port ?? 0)
        publisher.begin("publish", "alice")
        #expect(try await outputEventually { rig.figures?.publishers == 1 }, "\(rig.account)")
        var message: [UInt8] = []
        let writer = RTMPChunkWriter()
        writer.append(.audio, on: 4, stream: 1, body: ([0x90] + Array("Opus".utf8))[...], to: &message)
        publisher.send(message)
        #expect(try await outputEventually { rig.ended("alice") == 1 }, "\(rig.account)")
        #expect(rig.interrupted("alice") == 0)
        #expect(await publisher.isClosed(within: 30))
    }

    /// Killed without closing, and back within the grace period: the player's connection and its timeline continue.
    @Test func aPublisherThatComesBackGoesOn() async throws {
        let rig = try await IngestRig.start(grace: 12)
        defer { rig.stop() }
        let first = try rig.publish("alice")
        let player = try IngestPlayer(rig.pullURL("alice"))
        #expect(try await outputEventually { player.frames > 60 }, "\(rig.account)")
        first.signal(SIGKILL)
        first.waitForExit()
        #expect(try await outputEventually { rig.interrupted("alice") == 1 }, "\(rig.account)")
        let frames = player.frames
        try await Task.sleep(for: .seconds(1))
        let second = try rig.publish("alice")
        #expect(try await outputEventually { player.frames > frames + 60 }, "\(rig.account)")
        let progress = player.progress
        #expect(progress.end == nil && rig.ended("alice") == 0)
        let pictures = progress.tags.filter { $0.kind == .video && $0.head.dropFirst().first == 1 }
        #expect(zip(pictures, pictures.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
        let pause = zip(pictures, pictures.dropFirst()).map {
            (Int64($1.timestamp) - Int64($0.timestamp), $1.arrival - $0.arrival)
        }
        .max { $0.0 < $1.0 }
        let (timestamps, arrival) = try #require(pause)
        #expect(
            timestamps > 900 && abs(timestamps - arrival / 1_000_000) < 2_500,
            "\(timestamps) ms, \(arrival / 1_000_000) ms")
        // The publisher is gone for good.
        second.signal(SIGKILL)
        second.waitForExit()
        #expect(try await outputEventually { rig.ended("alice") == 1 }, "\(rig.account)")
        #expect(try await outputEventually { player.progress.end?.kind == .unpublished }, "\(rig.account)")
        player.stop()
    }

    @Test func aSecondPublisherTakesOver() async throws {
        let rig = try await IngestRig.start()
        defer { rig.stop() }
        let first = try rig.publish("alice")
        let player = try IngestPlayer(rig.pullURL("alice"))
        #expect(try await outputEventually { player.frames > 30 }, "\(rig.account)")
        try rig.publish("alice")
        #expect(first.waitForExit() != .status(0))
        let frames = player.frames
        #expect(try await outputEventually { player.frames > frames + 60 }, "\(rig.account)")
        #expect(player.progress.end == nil && rig.ended("alice") == 0 && rig.interrupted("alice") == 0)
        player.stop()
    }

    /// Crafted connections of all kinds, at once and in succession, beside a real publisher and its player.
    @Test func strangersDisturbNobody() async throws {
        var random = SeededGenerator(announcedFor: "IngestServerTests.strangersDisturbNobody")
        let rig = try await IngestRig.start()
        defer { rig.stop() }
        let publisher = try rig.publish("alice", seconds: 900)
        let player = try IngestPlayer(rig.pullURL("alice"))
        #expect(try await outputEventually { player.frames > 60 }, "\(rig.account)")
        let count = TestLength.of(short: 400, long: 10_000)
        var open: [Int32] = []
        var memory: [Int] = []
        for number in 0..<count {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            guard LoopbackListener.connect(descriptor, to: rig.port ?? 0) else {
                close(descriptor)
                continue
            }
            let bytes = Self.craft(using: &random)
            _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            open.append(descriptor)
            // Most leave at once, some stay silently.
            if Int.random(in: 0..<4, using: &random) > 0, let gone = open.randomElement(using: &random) {
                close(gone)
                open.removeAll { $0 == gone }
            }
            while open.count > 200 { close(open.removeFirst()) }
            if number % (count / 4) == count / 4 - 1 {
                try await Task.sleep(for: .milliseconds(300))
                memory.append(rig.residentBytes)
            }
        }
        for descriptor in open { close(descriptor) }
        #expect(try await outputEventually { rig.figures?.connections == 2 }, "\(rig.account)")
        #expect(publisher.isRunning && player.progress.end == nil)
        let arrivals = player.progress.tags.filter { $0.kind == .video }.map(\.arrival)
        let gap = zip(arrivals, arrivals.dropFirst()).map { $1 - $0 }.max() ?? .max
        // Publisher, player and this test may be late themselves. A server that waits for a stranger would be silent
        // for 15 s.
        #expect(gap < 8_000_000_000, "the player waited \(gap / 1_000_000) ms")
        print(
            "memory in MiB: \(memory.map { $0 >> 20 }), longest pause \(gap / 1_000_000) ms, \(rig.figures?.refused ?? 0) refused"
        )
        let (first, last) = (try #require(memory.first), try #require(memory.last))
        #expect(last - first < 16 << 20)
        player.stop()
    }

    /// Returns the beginning of a connection: garbage, a handshake followed by garbage, or commands with faults.
    private static func craft(using random: inout SeededGenerator) -> [UInt8] {
        func garbage(_ count: Int, _ random: inout SeededGenerator) -> [UInt8] {
            (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        let handshake = [3] + garbage(3072, &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return garbage(Int.random(in: 0...4000, using: &random), &random)
        case 1: return Array(handshake.prefix(Int.random(in: 1...3072, using: &random)))
        case 2: return handshake + garbage(Int.random(in: 1...4000, using: &random), &random)
        case 3: return handshake + RTMPServerTests.command("connect", 1) + garbage(500, &random)
        case 4:
            return handshake + RTMPServerTests.command("connect", 1)
                + RTMPServerTests.command("publish", 0, [.null, .string("bad-\(random.next())")], stream: 1)
        default:
            var bytes =
                handshake + RTMPServerTests.command("connect", 1)
                + RTMPServerTests.command("play", 0, [.null, .string("x")], stream: 1)
            for _ in 0..<4 {
                let index = Int.random(in: 3073..<bytes.count, using: &random)
                bytes[index] = UInt8.random(in: 0...255, using: &random)
            }
            return bytes
        }
    }

    @Test func aTakenPortIsSaidAndTriedAgain() async throws {
        let rig = try await IngestRig.start()
        defer { rig.stop() }
        let other = try LoopbackListener()
        rig.send(
            .configure(IngestSettings(host: "127.0.0.1", port: other.port, grace: 1, secret: IngestRig.secret)))
        #expect(
            try await outputEventually {
                rig.reports.contains(.notListening(reason: "another process listens on 127.0.0.1:\(other.port)"))
            })
        close(other.descriptor)
        #expect(try await outputEventually { rig.reports.contains(.listening(port: other.port)) }, "\(rig.account)")
    }
}
