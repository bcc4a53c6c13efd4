import EncodedMedia
import Foundation
import StoreSupport
import TestSupport
import Testing

@testable import ViewerProbe

/// Rooms on several nodes with a real stream. One room goes through every step, because starting nodes takes time.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)"))
struct ClusterTests {
    @Test(.timeLimit(.minutes(15))) func aRoomOutlivesItsNodes() async throws {
        try await ClusterStage.run(lease: 5) { stage in
            let (a, b) = (stage.a, stage.b)
            try await a.client.putRoom(
                "demo", host: "alice", output: stage.media.cdn("demo"), layout: "side-by-side", canvas: .portrait)
            try await a.client.published("demo", user: "alice", url: stage.media.live("alice"), role: "host")
            try await stage.waitForOnAir("bypass", at: a)
            let viewer = try await stage.record(stage.media.cdn("demo"), as: "cdn")

            // The other node reports the same.
            try await stage.waitForOnAir("bypass", at: b)
            #expect(b.relays.isEmpty)
            let other = try await stage.record("http://127.0.0.1:\(b.client.port)/live/demo.flv", as: "other")
            let answer = try await b.client.request(
                "PATCH", "/v1/rooms/demo/participants/alice", json: #"{"muted": false}"#)
            #expect(answer.status < 300, "\(answer.text)")
            try await waitUntil("a viewer sees more") { other.progress.tags > 60 }
            other.stop()

            // The machine stalls: its relay must not send when it resumes.
            let frozen = a.relays
            let at = MonotonicClock.now()
            a.freeze(true)
            try await waitUntil("the other node has the program") { !b.relays.isEmpty }
            print("taken over after \((MonotonicClock.now() - at) / 1_000_000) ms, lease 5 s")
            try await stage.waitForOnAir("bypass", at: b)
            a.freeze(false)
            try await waitUntil("the relay that stood still has ended") {
                Set(a.relays).isDisjoint(with: frozen)
            }
            #expect(a.relayLog.contains("sends nothing more"), "\(a.relayLog)")
            try await stage.waitForOnAir("bypass", at: a)
            #expect(a.relays.isEmpty, "it is the other node's program")
            // The destination accepts the second relay once the first one's connection is gone.
            try await stage.sees(viewer, "of the second node")

            // The machine is lost, and known to be lost.
            b.destroy()
            try await stage.expel(b)
            try await waitUntil("the first node has the program again") { !a.relays.isEmpty }
            try await stage.waitForOnAir("bypass", at: a)
            try await stage.sees(viewer, "of the first node")
            viewer.stop()

            let seen = await viewer.recording()
            #expect(seen.publisherLosses == 2, "one reconnect for each node that was lost: \(viewer.progress)")
            let trace = try seen.trace()
            for track in [trace.video, trace.audio] {
                let times = track.map(\.frame.dts)
                #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "timestamps go on")
            }
            // A server first sends its backlog, up to a group of pictures of 2 s, so the earliest of several frames
            // counts.
            let delays = trace.video.compactMap { entry in
                entry.arrival.map { Double($0) / 1e6 - entry.frame.dts.inMilliseconds }
            }
            let drift = try #require(delays.suffix(20).min()) - #require(delays.prefix(45).min())
            print("\(drift) ms between clock and timestamps over both losses")
            #expect(abs(drift) < 1000, "timestamps keep step with the clock")
        }
    }

    /// A publisher at the ingest of a node that never owns the room is on air at the room's node, and continues over
    /// one connection when the room moves.
    @Test(.timeLimit(.minutes(12))) func publishersReachAnyNode() async throws {
        try await ClusterStage.run(lease: 10, hasIngests: true) { stage in
            let (a, b) = (stage.a, stage.b)
            let c = try await stage.start("c")
            try await a.client.putRoom(
                "demo", host: "alice", output: stage.media.cdn("demo"), layout: "side-by-side", canvas: .portrait)
            // The node accepts no rooms from now on, but still serves its publishers.
            #expect(try await b.client.request("POST", "/v1/node/drain").status == 200)
            let publisher = try stage.publish("demo__alice", at: b)
            try await stage.waitForOnAir("bypass", at: a)
            #expect(!a.relays.isEmpty && b.relays.isEmpty)
            let viewer = try await stage.record(stage.media.cdn("demo"), as: "cdn")
            try await waitUntil("a viewer sees the publisher") { viewer.progress.tags > 60 }

            let answer = try await a.client.request("POST", "/v1/node/drain", within: .seconds(180))
            #expect(answer.text.contains(#""moved":1"#), "\(answer.text)")
            try await stage.waitForOnAir("bypass", at: c)
            #expect(!c.relays.isEmpty && b.relays.isEmpty)
            try await waitUntil("the first node's relay has ended") { a.relays.isEmpty }
            try await stage.sees(viewer, "of the third node")
            viewer.stop()
            let seen = await viewer.recording()
            #expect(seen.publisherLosses == 1, "one reconnect for the move: \(viewer.progress)")
            #expect(publisher.isRunning, "\(publisher.messages())")
            #expect(b.ingestLog.ranges(of: "a publisher has begun").count == 1, "\(b.ingestLog)")

            await publisher.stop(within: 15)
            try await waitUntil("alice has left") { try await c.client.users("demo").isEmpty }
            for node in [a, b, c] {
                let logs = node.service.messages(last: .max) + node.relayLog + node.ingestLog
                #expect(!logs.contains("relay="), "a log of \(node.name) shows a code")
            }
        }
    }

    /// Followers of a channel stay connected to their node when the node that owns the room is killed or stalls; they
    /// receive later comments exactly once.
    @Test(.timeLimit(.minutes(12))) func followersOutliveTheRoomsNode() async throws {
        try await ClusterStage.run(lease: 3) { stage in
            let (a, b) = (stage.a, stage.b)
            #expect(try await a.client.request("PUT", "/v1/rooms/demo", json: "{}").status == 201)
            let first = try ChannelFollower(at: b)
            try await first.hears("event: state")
            try await stage.say("one", at: a)
            try await first.hears(#""text":"one""#)
            a.destroy()
            try await stage.say("two", at: b)
            try await first.hears(#""text":"two""#)

            let c = try await stage.start("c")
            let second = try ChannelFollower(at: c)
            try await second.hears(#""text":"two""#)
            b.freeze(true)
            try await stage.say("three", at: c)
            try await second.hears(#""text":"three""#)
            // For a moment, the node still believes that it owns the room.
            b.freeze(false)
            try await stage.say("four", at: b)
            for follower in [first, second] {
                try await follower.hears(#""text":"four""#)
                for text in ["two", "three", "four"] {
                    #expect(follower.text.ranges(of: #""text":"\#(text)""#).count == 1, "\(text): \(follower.text)")
                }
                #expect(!follower.text.contains("event: deleted"))
            }
        }
    }
}

/// A follower of a room's channel.
private final class ChannelFollower {
    private let client: PlainClient
    private(set) var text = ""

    init(at node: ClusterStage.Node) throws {
        client = try PlainClient(port: node.client.port)
        client.send("GET /v1/rooms/demo/channel HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
    }

    func hears(_ words: String) async throws {
        try await waitUntil("\(words) is heard: \(text)") {
            text += client.receive()
            return text.contains(words)
        }
    }
}

extension ClusterStage {
    /// Sends a comment, repeating it until it is accepted. A refused comment was not sent.
    fileprivate func say(_ text: String, at node: Node) async throws {
        var last = ""
        try await waitUntil("\(text) is taken: \(last)") {
            let answer = try await node.client.request(
                "POST", "/v1/rooms/demo/messages", json: #"{"text":"\#(text)","user":"bob"}"#)
            last = answer.text
            return answer.status == 201
        }
    }
}
