import EncodedMedia
import StoreSupport
import TestSupport
import Testing

@testable import ViewerProbe

/// Publishers of one stream at the ingests of several nodes: real services, ingests, encoders and a database.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)"))
struct ClusterPublisherTests {
    /// Reasons that a publisher's program shows.
    private static let replaced = "another publisher has taken over this stream key"
    private static let refused = "another publisher is live with this stream key"

    /// The latest publisher at any node takes the place over, and the program continues over one connection.
    @Test(.timeLimit(.minutes(15))) func whoComesToAnotherNodeTakesOver() async throws {
        try await ClusterStage.run(lease: 10, hasIngests: true, settings: ["INGEST_GRACE": "30"]) { stage in
            let (a, b) = (stage.a, stage.b)
            let c = try await stage.start("c")
            let (first, viewer) = try await stage.begin(at: b)

            let second = try stage.publish("demo__alice", at: c)
            try await waitUntil("the first publisher was told to go") { !first.isRunning }
            #expect(first.messages().contains(Self.replaced), "\(first.messages())")
            try await stage.goesOn(viewer, "after the takeover")
            #expect(second.isRunning, "\(second.messages())")

            // The publisher is killed and comes back at another node within the grace period: the participant has not
            // left meanwhile.
            second.kill9()
            try await waitUntil("the ingest has lost the publisher") { c.ingestLog.contains("a publisher has left") }
            let third = try stage.publish("demo__alice", at: b)
            try await stage.begins(2, at: b)
            try await stage.goesOn(viewer, "after the return at another node")
            try await waitUntil("the place at the third node is given up") {
                c.service.messages(last: .max).contains("another node has it")
            }
            #expect(try await a.client.users("demo") == ["alice"])

            // A node whose publisher was taken over while its service was down learns of it after the restart.
            b.service.kill9()
            let fourth = try stage.publish("demo__alice", at: c)
            try await stage.begins(2, at: c)
            try await stage.goesOn(viewer, "after the takeover from a node without a service")
            #expect(third.isRunning, "its ingest goes on: \(third.messages())")
            let again = try await stage.restart(b)
            try await waitUntil("the third publisher was told to go") { !third.isRunning }
            #expect(third.messages().contains(Self.replaced), "\(third.messages())")
            try await stage.goesOn(viewer, "after the restart")

            await fourth.stop()
            try await waitUntil("alice has left") { try await a.client.users("demo").isEmpty }
            viewer.stop()
            let seen = await viewer.recording()
            #expect(seen.publisherLosses == 0, "the destination was connected once: \(viewer.progress)")
            let times = try seen.trace().video.map(\.frame.dts)
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "timestamps go on")
            let timeline = try await a.client.request("GET", "/v1/tasks/auto-demo/timeline").text
            #expect(timeline.ranges(of: #""message":"stream.unpublished alice"#).count == 1, "\(timeline)")
            for node in [a, b, c, again] {
                let logs = node.service.messages(last: .max) + node.relayLog + node.ingestLog
                #expect(!logs.contains("relay="), "a log of \(node.name) shows a code")
            }
        }
    }

    /// With `takeover: refuse`, a second publisher is refused at any node while the first one is connected. If the
    /// first one's node is lost, it is refused for the duration of the lease.
    @Test(.timeLimit(.minutes(15))) func theSecondIsRefusedAtAnotherNode() async throws {
        let lease = 6
        let settings = ["INGEST_GRACE": "30", "INGEST_TAKEOVER": "refuse"]
        try await ClusterStage.run(lease: lease, hasIngests: true, settings: settings) { stage in
            let (a, b) = (stage.a, stage.b)
            let c = try await stage.start("c")
            let (first, viewer) = try await stage.begin(at: b)
            for node in [a, c] {
                let second = try stage.publish("demo__alice", at: node)
                try await waitUntil("the second is refused at \(node.name)") { !second.isRunning }
                #expect(second.messages().contains(Self.refused), "\(second.messages())")
            }
            #expect(first.isRunning, "\(first.messages())")
            try await stage.goesOn(viewer, "while others are refused")

            first.kill9()
            try await waitUntil("the ingest has lost the publisher") { b.ingestLog.contains("a publisher has left") }
            let third = try await stage.publishAgain(at: c, after: 0)
            try await stage.goesOn(viewer, "after the return at another node")
            #expect(try await a.client.users("demo") == ["alice"])
            #expect(third.isRunning, "\(third.messages())")

            // The node's machine is lost.
            c.destroy()
            let begin = MonotonicClock.now()
            let last = try await stage.publishAgain(at: b, after: 1)
            let time = Double(MonotonicClock.now() - begin) / 1e9
            print("let in \(time) s after the loss of the other node, lease \(lease) s")
            // Each attempt takes one start of ffmpeg. The grace period of the ingest is longer, and does not count
            // here.
            #expect(time < Double(lease) + 18)
            try await stage.goesOn(viewer, "after the loss of a node")
            #expect(try await a.client.users("demo") == ["alice"])
            viewer.stop()
            #expect(await viewer.recording().publisherLosses == 0, "connected once: \(viewer.progress)")
            await last.stop()
        }
    }

    /// A WebRTC client publishes at a node that does not have the room, is on air there, and ends the session through a
    /// third node.
    @Test(.timeLimit(.minutes(12))) func aWebRTCClientPublishesAtAnyNode() async throws {
        try await ClusterStage.run(lease: 10, hasIngests: true, settings: ["WEBRTC_WHIP": "on"]) { stage in
            let (a, b) = (stage.a, stage.b)
            let c = try await stage.start("c")
            try await a.client.putRoom(
                "demo", host: "alice", output: stage.media.cdn("demo"), layout: "side-by-side", canvas: .portrait)
            let alice = try await WhipPublisher(
                "alice", SyntheticPublisher(id: 1, width: 360, height: 640), in: "demo", of: b.client,
                files: stage.directory)
            try await alice.publish()
            try await stage.waitForOnAir("bypass", at: a)
            let viewer = try await stage.record(stage.media.cdn("demo"), as: "cdn")
            try await stage.goesOn(viewer, "from the client at another node")
            #expect(!a.relays.isEmpty && b.relays.isEmpty)
            try await alice.leave(through: c.client)
            try await waitUntil("alice has left") { try await a.client.users("demo").isEmpty }
            viewer.stop()
            #expect(await viewer.recording().publisherLosses == 0, "connected once: \(viewer.progress)")
        }
    }
}

extension ClusterStage {
    /// Puts the room on the first node, and alice on air from another node's ingest, with a viewer at the destination.
    fileprivate func begin(at node: Node) async throws -> (publisher: ManagedProcess, viewer: ProbeRecorder) {
        try await a.client.putRoom(
            "demo", host: "alice", output: media.cdn("demo"), layout: "side-by-side", canvas: .portrait)
        let publisher = try publish("demo__alice", at: node)
        try await waitForOnAir("bypass", at: a)
        #expect(!a.relays.isEmpty && node.relays.isEmpty)
        let viewer = try await record(media.cdn("demo"), as: "cdn")
        try await goesOn(viewer, "at the beginning")
        return (publisher, viewer)
    }

    /// Returns when this many publishers have begun at a node's ingest.
    fileprivate func begins(_ count: Int, at node: Node) async throws {
        try await waitUntil("publisher \(count) begins at \(node.name)\n\(node.ingestLog)") {
            node.ingestLog.ranges(of: "a publisher has begun").count == count
        }
    }

    /// Returns when a viewer has received two more seconds that come from the newest publisher, whose stream the room's
    /// relay pulls.
    fileprivate func goesOn(_ viewer: ProbeRecorder, _ when: String) async throws {
        try await waitUntil("the stream is live \(when)") {
            let onAir = try await a.client.task("demo")?.state.onAir
            return try await a.client.streamErrors("demo").isEmpty && onAir == "bypass"
        }
        try await sees(viewer, when)
    }

    /// Publishes until a node's ingest, at which `count` publishers have begun before, accepts alice.
    fileprivate func publishAgain(at node: Node, after count: Int) async throws -> ManagedProcess {
        let deadline = ContinuousClock.now + .seconds(patience)
        while true {
            let publisher = try publish("demo__alice", at: node)
            func hasBegun() -> Bool { node.ingestLog.ranges(of: "a publisher has begun").count > count }
            try await waitUntil("a publisher is let in or ends\n\(publisher.messages())") {
                hasBegun() || !publisher.isRunning
            }
            if hasBegun() { return publisher }
            guard ContinuousClock.now < deadline else {
                throw EndToEndError("nobody is let in at \(node.name): \(publisher.messages())")
            }
        }
    }
}
