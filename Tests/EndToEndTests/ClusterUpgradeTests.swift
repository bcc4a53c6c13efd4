import LayoutEngine
import StoreSupport
import TestSupport
import Testing

@testable import ViewerProbe

/// A node of a cluster is upgraded on its machine: its next service takes over the relays, and no other node the room.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)"))
struct ClusterUpgradeTests {
    @Test(.timeLimit(.minutes(15))) func anUpgradeCostsNoReconnectAndNoPicture() async throws {
        let receiver = try RTMPReceiver()
        defer { receiver.stop() }
        try await ClusterStage.run(lease: 120, settings: ["RELAY_KEEP": "true"]) { stage in
            try await stage.a.client.putRoom(
                "demo", host: "alice", output: receiver.url("demo"), layout: "side-by-side", canvas: .portrait)
            try await stage.a.client.published("demo", user: "alice", url: stage.source, role: "host")
            func arrived() -> Int { receiver.senders(of: "demo").reduce(0) { $0 + $1.frames.count } }
            try await waitUntil("the program is on air") { arrived() > 100 }
            let relays = Set(stage.a.relays)
            #expect(!relays.isEmpty)
            var node = stage.a
            for round in 0..<TestLength.of(short: 2, long: 10) {
                // Every other time the service is killed instead.
                node = try await round.isMultiple(of: 2) ? stage.upgrade(node) : stage.restart(node)
                try await stage.waitForOnAir("bypass", at: node)
                // The other node finds the room at the address of the new service.
                try await stage.waitForOnAir("bypass", at: stage.b)
                #expect(Set(node.relays) == relays, "round \(round): the relay was started again")
                let before = arrived()
                try await waitUntil("the program goes on") { arrived() > before + 60 }
            }
            #expect(stage.b.relays.isEmpty, "the room has moved")
            let senders = receiver.senders(of: "demo")
            #expect(senders.count == 1, "the destination was reconnected")
            let times = senders.flatMap { $0.frames.filter(\.isVideo).map { Int($0.timestamp) } }
            let steps = zip(times, times.dropFirst()).map { $1 - $0 }
            // The publisher makes 20 pictures a second.
            let odd = steps.filter { !(40...60 ~= $0) }
            #expect(odd.isEmpty, "pictures were lost: \(odd)")
        }
    }

    private static func mixers(of node: ClusterStage.Node) -> Set<Int32> {
        let workers = node.relays.flatMap { ProcessTable.descendants(of: $0) }
        return Set(workers.filter { $0.arguments.contains("mixer") }.map(\.identifier))
    }

    /// Relay and mixer of a mix stay as they are, and its viewer sees every picture of both participants.
    @Test(.timeLimit(.minutes(15))) func anUpgradeCostsAMixNoPicture() async throws {
        let publishers = [1, 2].map { SyntheticPublisher(id: $0, width: 360, height: 640, gopSeconds: 1) }
        let canvas = Canvas(width: 360, height: 640, fps: 20)
        let rounds = TestLength.of(short: 2, long: 10)
        try await ClusterStage.run(lease: 120, settings: ["RELAY_KEEP": "true"], hasPlainLayouts: true) { stage in
            let bob = try ManagedProcess(
                "publisher-bob", "ffmpeg", publishers[1].arguments(url: stage.media.live("bob")), in: stage.directory)
            let stat = ServiceClient(port: stage.media.httpPort)
            try await waitUntil("bob publishes\n\(bob.messages())") {
                try await stat.request("GET", "/stat").text.contains("<name>bob</name>")
            }
            let cdn = stage.media.cdn("demo")
            try await stage.a.client.putRoom("demo", host: "alice", output: cdn, layout: "side-by-side", canvas: canvas)
            try await stage.a.client.published("demo", user: "alice", url: stage.source, role: "host")
            try await stage.a.client.published("demo", user: "bob", url: stage.media.live("bob"))
            try await stage.waitForOnAir("mix", at: stage.a)
            // The way into the mix is over before the recording that counts.
            let first = try await stage.record(cdn, as: "first")
            try await first.receive(pictures: 100)
            first.stop()
            let document = try #require(try await stage.a.client.task("demo"))
            let scenes = try SceneDocument.scenes(document.json, canvas: canvas)
            let viewer = try await stage.record(cdn, as: "cdn")
            try await viewer.receive(pictures: 60)
            let (relays, mixers) = (Set(stage.a.relays), Self.mixers(of: stage.a))
            #expect(relays.count == 1 && mixers.count == 1)
            var node = stage.a
            for round in 0..<rounds {
                node = try await round.isMultiple(of: 2) ? stage.upgrade(node) : stage.restart(node)
                try await stage.waitForOnAir("mix", at: node)
                try await stage.waitForOnAir("mix", at: stage.b)
                #expect(Set(node.relays) == relays && Self.mixers(of: node) == mixers, "round \(round)")
                try await viewer.receive(pictures: 60)
            }
            viewer.stop()
            let recording = await viewer.recording()
            await bob.stop()
            #expect(stage.b.relays.isEmpty, "the room has moved")
            let report = try await Probe.judgement(
                recording, ProbeConfiguration(publishers: publishers, scenes: scenes, limits: .ofTests)
            ).report
            #expect(report.connections == 1 && report.publisherLosses == 0)
            #expect(report.backwardTimestamps == 0 && report.decodeErrors.isEmpty, "\(report.decodeErrors)")
            #expect(report.blackMs == 0 && report.sources.map(\.id) == [1, 2], "\(report.table)")
            for source in report.sources {
                // A guest's picture may come late on a busy machine (`ProbeReport.isWhole`), once in each start.
                let exceptions = source.id == 1 ? 0 : rounds
                #expect(source.torn == 0 && source.backward == 0, "\(source)")
                #expect(source.lost + source.repeated <= exceptions, "\(source)")
            }
        }
    }
}
