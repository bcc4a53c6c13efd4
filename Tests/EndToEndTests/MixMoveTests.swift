import Foundation
import LayoutEngine
import StoreSupport
import TestSupport
import Testing

@testable import ViewerProbe

/// A planned move of a mix, as seen by its destination and by a viewer of the node that is drained.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)"))
struct MixMoveTests {
    private static let publishers = [1, 2].map { SyntheticPublisher(id: $0, width: 360, height: 640, gopSeconds: 1) }
    // The canvas is small because the mixers of both nodes render it at once.
    private static let canvas = Canvas(width: 360, height: 640, fps: 20)

    /// The scene that a node shows.
    private static func scenes(at node: ClusterStage.Node) async throws -> [Scene] {
        try await node.client.task("demo").map { try SceneDocument.scenes($0.json, canvas: canvas) } ?? []
    }

    /// Checks what the destination has received.
    private static func expectOneMove(_ receiver: RTMPReceiver) {
        let senders = receiver.senders(of: "demo")
        #expect(senders.count == 2, "one reconnect")
        #expect(receiver.overlap(of: "demo").seconds < 0.15, "\(receiver.overlap(of: "demo"))")
        for isVideo in [true, false] {
            let times = senders.flatMap(\.frames).filter { $0.isVideo == isVideo }.map(\.timestamp)
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 <= $1 }, "timestamps go on")
        }
        #expect(senders.last?.frames.first(where: \.isVideo)?.isIDR == true)
        print("a mix moved, freeze: \(receiver.freezes(of: "demo").map { "\(Int($0 * 1000)) ms" })")
    }

    /// Both mixers follow the sources by their arrival, which differs between two nodes. So a mix need not go on with the very
    /// next picture of its host as a bypass does: the kept pictures are up to 0.3 s old, or a new keyframe is waited for
    /// (docs/adr/0077). Content goes back once at most, and not by more than that and the lateness of a busy machine.
    @Test(.timeLimit(.minutes(10))) func aMixMoves() async throws {
        let receiver = try RTMPReceiver()
        defer { receiver.stop() }
        try await ClusterStage.run(lease: 10, hasPlainLayouts: true) { stage in
            let (a, b) = (stage.a, stage.b)
            let bob = try ManagedProcess(
                "publisher-bob", "ffmpeg", Self.publishers[1].arguments(url: stage.media.live("bob")),
                in: stage.directory)
            let stat = ServiceClient(port: stage.media.httpPort)
            try await waitUntil("bob publishes\n\(bob.messages())") {
                try await stat.request("GET", "/stat").text.contains("<name>bob</name>")
            }
            try await a.client.putRoom(
                "demo", host: "alice", output: receiver.url("demo"), layout: "side-by-side", canvas: Self.canvas)
            try await a.client.published("demo", user: "alice", url: stage.source, role: "host")
            try await a.client.published("demo", user: "bob", url: stage.media.live("bob"))
            try await stage.waitForOnAir("mix", at: a)
            // The way into the mix is over.
            try await waitUntil("the destination has the mix") {
                receiver.senders(of: "demo").first?.frames.count ?? 0 > 200
            }
            let viewer = try await stage.record("http://127.0.0.1:\(a.client.port)/live/demo.flv", as: "mix")
            try await viewer.receive(pictures: 60)
            var scenes = try await Self.scenes(at: a)

            let drained = try await a.client.request("POST", "/v1/node/drain", within: .seconds(180))
            #expect(drained.text.contains(#""moved":1"#), "\(drained.text)")
            try await stage.waitForOnAir("mix", at: b)
            try await waitUntil("the destination receives from the next relay") {
                receiver.senders(of: "demo").count > 1
            }
            try await viewer.receive(pictures: 60)
            scenes += try await Self.scenes(at: b)
            viewer.stop()
            let recording = await viewer.recording()
            await bob.stop()

            Self.expectOneMove(receiver)
            let judgement = try await Probe.judgement(
                recording, ProbeConfiguration(publishers: Self.publishers, scenes: scenes, limits: .ofTests))
            let report = judgement.report
            print(report.table)
            #expect(report.connections == 1 && report.publisherLosses == 0)
            #expect(report.backwardTimestamps == 0 && report.decodeErrors.isEmpty, "\(report.decodeErrors)")
            #expect(report.blackMs == 0 && report.sources.map(\.id) == [1, 2])
            for source in report.sources {
                #expect(source.torn == 0, "\(source)")
                let counters = judgement.observation.pictures.compactMap { $0.readings[source.id]?.mark.counter }
                let steps = zip(counters, counters.dropFirst()).map { SourceMark.steps(from: $0, to: $1) }
                let back = steps.filter { $0 < 0 }
                #expect(back.count <= 1 && back.allSatisfy { $0 >= -20 }, "\(source.id) goes back: \(back)")
                let limit = TestLength.of(short: 60, long: 20)
                #expect((steps.max() ?? 0) <= limit, "\(source.id): so many pictures are not shown at once")
            }
        }
    }
}
