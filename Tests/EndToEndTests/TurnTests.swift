import Foundation
import LayoutEngine
import Testing

@testable import ViewerProbe

/// Publishers behind a network that passes only packets of a TURN server.
@Suite(.serialized, .enabled(if: TurnServer.executable != nil, "coturn is not installed: run deploy/setup.sh --tests"))
struct TurnTests {
    @Test(.timeLimit(.minutes(6))) func whoComesThroughATURNServerIsOnAir() async throws {
        try await withTurnServer(.password) { stage, turn in
            try await stage.client.putRoom(
                stage.room, host: "alice", output: stage.media.cdn(stage.room), layout: stage.layout,
                canvas: stage.canvas)
            let source = SyntheticPublisher(id: 1, width: 360, height: 640, videoBitrate: 800_000)
            let alice = try await WhipPublisher("alice", source, on: stage, relay: turn.url)
            let candidates = alice.candidates
            #expect(!candidates.isEmpty && candidates.allSatisfy { $0.contains("typ relay") }, "\(candidates)")
            // The log arrives in pieces.
            try await waitUntil("the server tells of the client\n\(turn.log)") { turn.allocations > 0 }
            let ofTheClient = turn.allocations
            try await alice.publish()
            try await stage.waitForOnAir("bypass")
            try await expectPictures(stage)
            try await waitUntil("the service has a place there, too\n\(turn.log)") { turn.allocations > ofTheClient }
            try await alice.leave()
        }
    }

    /// A browser without UDP, as behind a company's firewall, connects with the settings that the service gives it.
    @Test(.timeLimit(.minutes(6)), .enabled(if: Browser.executable != nil, "chromium is not installed"))
    func aBrowserWithoutUDPIsOnAir() async throws {
        try await withTurnServer(.secret, over: "tcp") { stage, turn in
            try await stage.makeRoom()
            let alice = try Browser(directory: stage.directory).open(
                "http://127.0.0.1:\(stage.client.port)/publish/\(stage.room)#user=alice&live=1&figures=1",
                options: ["--webrtc-ip-handling-policy=disable_non_proxied_udp"])
            do {
                try await stage.waitForOnAir("bypass")
            } catch {
                print("--- alice\n\(alice.messages())")
                throw error
            }
            try await expectPictures(stage)
            try await waitUntil("one for the browser, and one for the service\n\(turn.log)") { turn.allocations > 1 }
            await alice.stop()
        }
    }

    private func expectPictures(_ stage: Stage) async throws {
        let viewer = try await stage.watch()
        try await waitUntil("alice is seen: \(viewer.progress)") { viewer.progress.videoTags > 40 }
        viewer.stop()
        let trace = try await viewer.recording().trace()
        #expect(trace.video.count > 30)
    }

    private func withTurnServer(
        _ access: TurnServer.Access, over transport: String? = nil,
        _ body: @escaping @Sendable (Stage, TurnServer) async throws -> Void
    ) async throws {
        let directory = try Workspace.makeDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let turn = try await TurnServer.start(access, in: directory)
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(HookingMediaServer.anyPort())",
            "MIXORCHESTRATOR_WEBRTC_WHIP": "on",
        ].merging(turn.environment(over: transport)) { $1 }
        do {
            try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20), environment: environment) { stage in
                try await body(stage, turn)
            }
        } catch {
            print("--- coturn\n\(turn.log)")
            await turn.stop()
            throw error
        }
        await turn.stop()
    }
}
