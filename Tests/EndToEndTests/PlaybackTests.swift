import Foundation
import Testing
import EncodedMedia

@testable import LayoutEngine
@testable import ViewerProbe

/// Viewers of the service's own HTTP-FLV.
@Suite(.serialized) struct PlaybackTests {
    /// While the service is stopped the program continues, and its viewers miss nothing when it resumes.
    @Test(.timeLimit(.minutes(5))) func aServiceThatStandsStillHurtsNobody() async throws {
        try await Stage.run { stage in
            // The stream is small because another test runs at the same time, and a late encoder looks like a stalled
            // host.
            try await stage.publish(
                "alice", SyntheticPublisher(id: 1, width: 360, height: 640, videoBitrate: 600_000))
            try await stage.open(host: "alice")
            let viewer = try await stage.record(
                "http://127.0.0.1:\(stage.client.port)/live/\(stage.room).flv", as: "flv")
            let program = try await stage.watch()
            try await Task.sleep(for: .seconds(2))
            kill(stage.service.identifier, SIGSTOP)
            try await Task.sleep(for: .seconds(4))
            kill(stage.service.identifier, SIGCONT)
            let stopped = viewer.progress.timestamp
            try await waitUntil("the viewer goes on") { viewer.progress.timestamp > stopped + 6000 }
            let report = try await stage.judge(program, expectedSwitches: 0)
            #expect(report.isWithinLimits, "\(report.table)")
            viewer.stop()
            let times = try await viewer.recording().trace().video.map(\.frame.dts)
            #expect(times.count > 100)
            let longest = zip(times, times.dropFirst()).map { ($1 - $0).inMilliseconds }.max() ?? 0
            #expect(longest < 75, "\(longest) ms between two pictures")
        }
    }

    /// A third-party player with a signed URL plays from the middle to the end.
    @Test(.timeLimit(.minutes(5))) func ffmpegPlaysToTheEndOfTheProgram() async throws {
        let key = "0123456789abcdef"
        try await Stage.run(environment: ["MIXORCHESTRATOR_PLAYBACK_KEY": key]) { stage in
            try await stage.publish(
                "alice", SyntheticPublisher(id: 1, width: 360, height: 640, videoBitrate: 600_000))
            try await stage.open(host: "alice")
            let url = "http://127.0.0.1:\(stage.client.port)/live/\(stage.room).flv"
            let signing = try ManagedProcess(
                "sign-url", Workspace.executable("mixorchestrator"), ["sign-url", url, "--key", key, "--ttl", "600"],
                in: stage.directory)
            try await waitUntil("the URL is signed") { !signing.isRunning }
            let signed = signing.messages().trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(signed.hasPrefix(url + "?auth_key="))
            let refused = try await stage.client.request("GET", "/live/\(stage.room).flv")
            #expect(refused.status == 403)

            let file = stage.directory.appendingPathComponent("played.mp4").path
            let player = try ManagedProcess(
                "player", "ffmpeg", ["-nostdin", "-v", "error", "-i", signed, "-c", "copy", "-y", file],
                in: stage.directory)
            try await waitUntil("the viewer is counted") {
                let room = try await stage.client.request("GET", "/v1/rooms/\(stage.room)")
                let state = try JSONSerialization.jsonObject(with: room.body) as? [String: Any]
                return state?["viewers"] as? Int == 1
            }
            try await Task.sleep(for: .seconds(3))
            try await stage.close()
            try await waitUntil("the player has ended") { !player.isRunning }
            #expect(player.exitStatus == 0)
            #expect(player.messages() == "", "\(player.messages())")
            // The player's file holds three seconds, with a margin for the start.
            let probe = try ManagedProcess(
                "ffprobe", "ffprobe", ["-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", file],
                in: stage.directory)
            try await waitUntil("the file is looked at") { !probe.isRunning }
            let seconds = Double(probe.messages().trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
            #expect(seconds > 2, "\(probe.messages())")
        }
    }
}
