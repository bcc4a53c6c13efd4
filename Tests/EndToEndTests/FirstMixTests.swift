import EncodedMedia
import Foundation
import TestSupport
import Testing

@testable import ViewerProbe

/// The delay with two publishers and nothing else until a viewer has both in the picture, and one again.
///
/// Runs only in `make test-long`, because it measures time.
@Suite(.serialized, .enabled(if: TestLength.isLong)) struct FirstMixTests {
    private static let rounds = 5

    @Test(.timeLimit(.minutes(8))) func theSecondPublisherIsInThePictureWithinASecond() async throws {
        let port = HookingMediaServer.anyPort()
        try await Stage.run(environment: ["MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(port)"]) { stage in
            let client = stage.client
            let clip = stage.directory.appendingPathComponent("bob.flv").path
            let make = try ManagedProcess(
                "clip", "ffmpeg", SyntheticPublisher(id: 2, gopSeconds: 1, seconds: 15).arguments(url: clip),
                in: stage.directory)
            try await waitUntil("the clip is made") { !make.isRunning }
            let place = "rtmp://127.0.0.1:\(port)/live/\(stage.room)__"
            let alice = try ManagedProcess(
                "alice", "ffmpeg", SyntheticPublisher(id: 1, gopSeconds: 1).arguments(url: place + "alice"),
                in: stage.directory)
            try await stage.waitForOnAir("bypass")
            let viewer = try await stage.record("http://127.0.0.1:\(client.port)/live/\(stage.room).flv", as: "flv")
            /// Returns when the room has these users, which is before a publisher may send its first keyframe.
            func wait(for users: Set<String>) async throws -> Int64 {
                while try await client.users(stage.room) != users { try await Task.sleep(for: .milliseconds(5)) }
                return MonotonicClock.now()
            }
            var changes: [(what: String, at: Int64)] = []
            for round in 1...Self.rounds {
                let bob = try ManagedProcess(
                    "bob-\(round)", "ffmpeg",
                    ["-nostdin", "-v", "error", "-re", "-i", clip, "-c", "copy", "-f", "flv", place + "bob"],
                    in: stage.directory)
                changes.append(("join", try await wait(for: ["alice", "bob"])))
                try await stage.waitForOnAir("mix", users: ["alice", "bob"])
                try await Task.sleep(for: .milliseconds(1500 + 170 * round))
                await bob.stop()
                changes.append(("leave", try await wait(for: ["alice"])))
                try await stage.waitForOnAir("bypass")
                try await Task.sleep(for: .milliseconds(1500))
            }
            viewer.stop()
            await alice.stop()
            let video = try await viewer.recording().trace().video
            var times: [String: [Double]] = [:]
            for (what, at) in changes {
                let before = video.last { $0.arrival ?? .max < at }?.configuration
                let next = try #require(
                    video.first { $0.arrival ?? 0 >= at && $0.configuration != before }?.arrival, "\(what)")
                times[what, default: []].append(Double(next - at) / 1e6)
            }
            print("ms until the viewer has it: \(times.mapValues { $0.map { $0.rounded() } })")
            // Alice's next IDR comes within a second.
            for (what, limit) in [("join", 1000.0), ("leave", 1500)] {
                let found = try #require(times[what]).sorted()
                #expect(found[Self.rounds / 2] < limit && found[Self.rounds - 1] < 3 * limit, "\(what): \(found)")
            }
        }
    }
}
