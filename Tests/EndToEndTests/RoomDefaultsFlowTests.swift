import Foundation
import LayoutEngine
import Testing

@testable import ViewerProbe

/// Two publishers and a viewer, without any settings.
@Suite(.serialized) struct RoomDefaultsFlowTests {
    /// A landscape host keeps its size and frame rate when a portrait guest joins, and a silent guest loses the pane.
    @Test(.timeLimit(.minutes(8))) func theMixHasTheShapeOfTheHost() async throws {
        let port = HookingMediaServer.anyPort()
        try await Stage.run(environment: ["MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(port)"]) { stage in
            func url(_ user: String) -> String { "rtmp://127.0.0.1:\(port)/live/\(stage.room)__\(user)" }
            try await waitUntil("the ingest runs\n\(stage.service.messages())") {
                stage.service.messages(last: .max).contains("RTMP ingest on ")
            }
            let host = SyntheticPublisher(id: 1, width: 640, height: 360, fps: 30, gopSeconds: 1)
            try stage.publish("alice", host, to: url("alice"))
            try await stage.waitForOnAir("bypass")
            let viewer = try await stage.record(
                "http://127.0.0.1:\(stage.client.port)/live/\(stage.room).flv", as: "viewer")
            try await Task.sleep(for: .seconds(2))

            let guest = SyntheticPublisher(
                id: 2, width: 360, height: 640, fps: 20, gopSeconds: 1, videoBitrate: 600_000)
            let bob = try stage.publish("bob", guest, to: url("bob"))
            let mix = try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            let scene = try #require(try await stage.scene())
            #expect(scene.canvas.width == 640 && scene.canvas.height == 360 && scene.canvas.fps == 30)
            #expect(scene.panes.map(\.label?.text) == ["alice", "bob"])
            #expect(mix.outputs.isEmpty)
            try await Task.sleep(for: .seconds(2.5))
            await bob.stop()
            try await stage.waitForOnAir("bypass")
            try await Task.sleep(for: .seconds(2))

            // The test is about the canvas: a debug build can hardly compose 30 pictures a second in time besides
            // everything else.
            var limits = ProbeLimits.ofTests
            (limits.mixDelayMs, limits.frozenMs, limits.contentFaults) = (3000, 3000, 150)
            let report = try await stage.judge(viewer, expectedSwitches: 2, limits: limits)
            #expect(report.failures.isEmpty, "\(report.failures)")
            #expect(report.isWithinLimits, "\(report.switches.map(\.failures))")
            #expect(report.connections == 1 && report.decodeErrors.isEmpty)
            // The size and rate stay the same from the first picture to the last.
            let last = try #require(report.videoIntervalsMs.last)
            #expect(last <= 35, "\(report.videoIntervalsMs)")
            let timeline = try await stage.client.request("GET", "/v1/tasks/auto-\(stage.room)/timeline").text
            #expect(!timeline.contains("the picture becomes"), "\(timeline)")
        }
    }

    /// A guest whose client hangs keeps the connection but sends nothing.
    @Test(.timeLimit(.minutes(6))) func aSilentGuestLosesThePaneAndGetsItBack() async throws {
        try await Stage.run(layout: "drop") { stage in
            let file = stage.layouts.appendingPathComponent("drop.json")
            try Data(#"{"arrangements": [{"algorithm": "mosaic", "fallback": {"dropAfter": 4}}]}"#.utf8).write(to: file)
            try await waitUntil("the layout is known") {
                try await stage.client.request("GET", "/v1/layouts/drop").status == 200
            }
            for (id, name) in [(1, "alice"), (2, "bob")] {
                try await stage.publish(
                    name, SyntheticPublisher(id: id, width: 360, height: 640, gopSeconds: 1, videoBitrate: 600_000))
            }
            try await stage.open(host: "alice")
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try stage.holdPublisher("bob", true)
            let clock = ContinuousClock()
            let begin = clock.now
            // When alice is alone again, she is copied.
            try await stage.waitForOnAir("bypass")
            #expect(clock.now - begin >= .seconds(2), "the card has its time")
            try stage.holdPublisher("bob", false)
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            let timeline = try await stage.client.request("GET", "/v1/tasks/auto-\(stage.room)/timeline").text
            #expect(
                timeline.contains("bob/camera is absent") && timeline.contains("bob/camera has arrived"), "\(timeline)")
        }
    }
}

extension Stage {
    /// Returns the scene on air.
    fileprivate func scene() async throws -> Scene? {
        struct Shown: Decodable { var scene: Scene? }
        return try await client.task(room).flatMap { try JSONDecoder().decode(Shown.self, from: $0.json).scene }
    }
}
