import Foundation
import Testing

@testable import EncodedMedia
@testable import ViewerProbe

/// From publishers to viewers with nothing but the service.
extension IngestTests {
    /// The room's answer tells viewers where to watch, and what is there shows both publishers.
    @Test(.timeLimit(.minutes(12))) func whatIsPublishedIsWatchedOverHLSAndRTMP() async throws {
        let port = HookingMediaServer.anyPort()
        try await Stage.run(environment: Self.environment(port)) { stage in
            let client = stage.client
            let settings = try await client.request(
                "PUT", "/v1/rooms/\(stage.room)", json: #"{"layout": "side-by-side"}"#)
            #expect(settings.status < 300, "\(settings.text)")
            try await Self.waitForIngest(stage, port)
            let sources = ["alice": Self.source(1), "bob": Self.source(2)]
            let alice = try Self.publish("alice", 1, port, stage)
            try await stage.waitForOnAir("bypass")
            let bob = try Self.publish("bob", 2, port, stage)
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            let asked = try await client.request(
                "PUT", "/v1/rooms/\(stage.room)/hls", json: #"{"segmentSeconds": 2}"#)
            #expect(asked.status == 200, "\(asked.text)")

            struct Room: Decodable { var playback: [String: String] }
            let answer = try await client.request("GET", "/v1/rooms/\(stage.room)")
            let playback = try JSONDecoder().decode(Room.self, from: answer.body).playback
            #expect(
                playback == [
                    "flv": "/live/\(stage.room).flv", "hls": "/live/\(stage.room)/index.m3u8",
                    "rtmp": "rtmp://127.0.0.1:\(port)/program/\(stage.room)",
                ])
            let viewer = try await stage.record(try #require(playback["rtmp"]), as: "program")
            try await viewer.receive(pictures: 20)
            viewer.stop()

            let path = try #require(playback["hls"])
            // The service waits for the first segment, but not for as long as a busy machine may take.
            try await waitUntil("HLS has begun") { try await client.request("GET", path).status == 200 }
            let file = stage.directory.appendingPathComponent("hls.flv").path
            let player = try ManagedProcess(
                "player-hls", "ffmpeg",
                [
                    "-nostdin", "-v", "error", "-i", "http://127.0.0.1:\(client.port)\(path)", "-t", "5", "-c", "copy",
                    "-f", "flv", "-y", file,
                ], in: stage.directory)
            try await waitUntil("five seconds are played\n\(player.messages())") { !player.isRunning }
            #expect(player.exitStatus == 0, "\(player.messages())")
            let trace = try FLVRecording(existing: file).trace()
            let times = trace.video.map(\.frame.pts.roundedMilliseconds).sorted()
            let longest = zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? .max
            #expect(times.count > 60 && longest <= 110, "\(times.count) pictures, at most \(longest) ms apart")
            #expect(trace.audio.count > 100, "\(trace.audio.count) frames of sound")
            let panes = try await stage.waitForOnAir("mix", users: ["alice", "bob"]).panes
            var seen: [String: Int] = [:]
            let errors = try PictureDecoder.decode(file) { _, picture in
                for pane in panes {
                    guard let source = sources[pane.user] else { continue }
                    if Self.mark(of: source, in: pane, of: picture) != nil { seen[pane.user, default: 0] += 1 }
                }
            }
            #expect(errors.isEmpty && seen.count == 2 && seen.values.allSatisfy { $0 > 40 }, "\(errors), \(seen)")
            for publisher in [alice, bob] { await publisher.stop() }
        }
    }
}
