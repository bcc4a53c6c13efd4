import Foundation
import LayoutEngine
import Testing

@testable import ViewerProbe

/// A program that is sent over WebRTC into another room of the same service.
@Suite(.serialized) struct WHIPOutputFlowTests {
    /// Returns the newest process of a stage that has this argument: an earlier one may still be ending.
    private static func worker(_ name: String, _ stage: Stage) -> Int32? {
        let data = stage.directory.appendingPathComponent("data").path
        return stage.workers.last { $0.arguments.contains(name) }?.identifier
            ?? ProcessTable.entries().last { entry in
                entry.arguments.contains(name) && entry.arguments.contains { $0.hasPrefix(data) }
            }?.identifier
    }

    @Test(.timeLimit(.minutes(8))) func aMixIsAParticipantOfAnotherRoom() async throws {
        let port = HookingMediaServer.anyPort()
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(port)", "MIXORCHESTRATOR_INGEST_GRACE": "10",
            "MIXORCHESTRATOR_WEBRTC_WHIP": "on",
        ]
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20), environment: environment) { stage in
            let client = stage.client
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1))
            try await stage.publish("bob", SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            let output = """
                {"id": "other", "kind": "whip", "url": "http://127.0.0.1:\(client.port)/whip/other/show"}
                """
            let answer = try await client.request(
                "POST", "/v1/tasks/auto-\(stage.room)/outputs", json: output)
            #expect(answer.status == 201, "\(answer.text)")
            #expect(answer.text.contains("whip://127.0.0.1:\(client.port)/whip/***"), "\(answer.text)")
            func live() async throws -> Int? {
                let state = try await client.task(stage.room)?.state
                let outputs = state?.outputs ?? []
                return outputs.allSatisfy { $0.state == "live" } ? outputs.map(\.reconnects).max() : nil
            }
            try await waitUntil("the program is in the other room") {
                let isLive = try await live() != nil
                return try await client.users("other") == ["show"] && isLive
            }
            let viewer = try await stage.record("http://127.0.0.1:\(client.port)/live/other.flv", as: "other")
            try await waitUntil("the other room's program is seen") { viewer.progress.timestamp > 3000 }

            // Both ends are killed without closing, one after the other: each time the output becomes live again.
            for name in ["push", "whip"] {
                var found: Int?
                try await waitUntil("it is live before \(name) is killed") {
                    found = try await live()
                    return found != nil
                }
                let before = try #require(found)
                let victim = try #require(Self.worker(name, stage), "no process \(name)")
                let seen = viewer.progress.timestamp
                kill(victim, SIGKILL)
                try await waitUntil("live again after \(name) was killed") {
                    try await live() ?? 0 > before
                }
                try await waitUntil("the other room goes on after \(name) was killed") {
                    viewer.progress.timestamp > seen + 4000
                }
                try await waitUntil("it is the only one there") {
                    try await client.users("other") == ["show"]
                }
            }
            viewer.stop()
            let recording = await viewer.recording()
            let trace = try recording.trace()
            print(
                "\(trace.video.count) pictures, \(trace.audio.count) frames of sound, \(recording.connections) connection"
            )
            #expect(trace.video.count > 50 && trace.audio.count > 100 && recording.connections == 1)
        }
    }
}
