import Foundation
import LayoutEngine
import Testing

@testable import ViewerProbe

/// Publishers whose network lets nothing through but a TURN server.
@Suite(.serialized, .enabled(if: TurnServer.executable != nil, "coturn is not installed: run deploy/setup.sh --tests"))
struct TurnTests {
    @Test(.timeLimit(.minutes(6))) func whoComesThroughATURNServerIsOnAir() async throws {
        let directory = try Workspace.makeDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let turn = try await TurnServer.start(in: directory)
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(HookingMediaServer.anyPort())",
            "MIXORCHESTRATOR_WEBRTC_WHIP": "on", "MIXORCHESTRATOR_WEBRTC_TURN_URL": "turn:127.0.0.1:\(turn.port)",
            "MIXORCHESTRATOR_WEBRTC_TURN_USER": turn.user, "MIXORCHESTRATOR_WEBRTC_TURN_PASSWORD": turn.password,
        ]
        do {
            try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20), environment: environment) { stage in
                try await stage.client.putRoom(
                    stage.room, host: "alice", output: stage.media.cdn(stage.room), layout: stage.layout,
                    canvas: stage.canvas)
                let source = SyntheticPublisher(id: 1, width: 360, height: 640, videoBitrate: 800_000)
                let alice = try await WhipPublisher("alice", source, on: stage, relay: turn)
                let candidates = alice.candidates
                #expect(!candidates.isEmpty && candidates.allSatisfy { $0.contains("typ relay") }, "\(candidates)")
                let ofTheClient = turn.allocations
                try await alice.publish()
                try await stage.waitForOnAir("bypass")
                let viewer = try await stage.watch()
                try await waitUntil("alice is seen") { viewer.progress.videoTags > 40 }
                viewer.stop()
                let trace = try await viewer.recording().trace()
                #expect(trace.video.count > 30)
                #expect(ofTheClient > 0 && turn.allocations > ofTheClient, "the service has a place there, too")
                try await alice.leave()
            }
        } catch {
            print("--- coturn\n\(turn.log)")
            await turn.stop()
            throw error
        }
        await turn.stop()
    }
}
