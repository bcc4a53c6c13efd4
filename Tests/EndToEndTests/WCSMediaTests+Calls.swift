import Foundation
import LayoutEngine
import Testing

@testable import ViewerProbe

/// An app server that mixes, pushes and records streams by Web Call Server's REST calls alone.
extension WCSMediaTests {
    @Test(.timeLimit(.minutes(10))) func aMixerIsPushedAndRecorded() async throws {
        let port = HookingMediaServer.anyPort()
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(port)", "MIXORCHESTRATOR_WCS_ENABLED": "true",
        ]
        // Two panes side by side, each of the size of a source.
        try await Stage.run(canvas: Canvas(width: 720, height: 640, fps: 20), environment: environment) { stage in
            // The room has no program of its own.
            let room = try await stage.client.request("PUT", "/v1/rooms/\(stage.room)", json: #"{"outputs":[]}"#)
            #expect(room.status < 300, "\(room.text)")
            try await IngestTests.waitForIngest(stage, port)
            for (id, user) in [(1, "alice"), (2, "bob")] {
                try stage.publish(
                    user, IngestTests.source(id), to: "rtmp://127.0.0.1:\(port)/live/\(stage.room)__\(user)")
            }
            try await waitUntil("both have joined") { try await stage.client.users(stage.room) == ["alice", "bob"] }
            let size = #""mixerVideoWidth":720,"mixerVideoHeight":640,"mixerVideoFps":20"#
            try await Self.call("mixer/startup", #"{"uri":"mixer://m1","localStreamName":"mixed",\#(size)}"#, on: stage)
            let streams = #"["alice#\#(stage.room)","bob#\#(stage.room)"]"#
            try await Self.call("mixer/add", #"{"uri":"mixer://m1","streams":\#(streams)}"#, on: stage)
            let push = try await Self.call(
                "push/startup",
                #"{"streamName":"mixed","rtmpUrl":"rtmp://127.0.0.1:\#(stage.media.rtmpPort)/cdn"}"#, on: stage)

            let viewer = try await stage.record(stage.media.cdn("rtmp_mixed"), as: "push")
            let task = try await stage.waitForOnAir("mix", task: "mixer-m1")
            #expect(task.panes.count == 2)

            let list = try await Self.call("stream/find", #"{"name":"alice#\#(stage.room)"}"#, on: stage)
            let alice = String(try #require(list.firstMatch(of: /"mediaSessionId":"([^"]+)"/)?.1))
            let recordings = [("mixed", "mixer-m1"), (stage.room, alice)]
            for (room, id) in recordings {
                try await Self.call("stream/startRecording", #"{"mediaSessionId":"\#(id)"}"#, on: stage)
                try await waitUntil("\(id) is recorded") {
                    try await Self.files(of: room, on: stage).map(\.state) == ["recording"]
                }
            }
            try await viewer.receive(pictures: 80)
            for (room, id) in recordings {
                try await Self.call("stream/stopRecording", #"{"mediaSessionId":"\#(id)"}"#, on: stage)
                try await waitUntil("the recording of \(id) is closed") {
                    try await Self.files(of: room, on: stage).map(\.state) == ["complete"]
                }
                let file = try #require(try await Self.files(of: room, on: stage).first)
                let frames = try await Self.frames(of: file.file, in: room, on: stage)
                print("\(id): \(frames) frames of video and sound")
                #expect(frames.count == 2 && frames.allSatisfy { $0 > 20 }, "\(id): \(frames)")
            }

            // What has been pushed shows both of them, moving.
            let report = try await stage.judge(viewer)
            #expect(report.decodeErrors.isEmpty && report.backwardTimestamps == 0 && report.connections == 1)
            #expect(report.sources.map(\.id) == [1, 2], "\(report.sources)")
            #expect(report.sources.allSatisfy { $0.pictures > 40 && $0.torn == 0 }, "\(report.sources)")

            let id = try #require(push.firstMatch(of: /"mediaSessionId":"([^"]+)"/)?.1)
            try await Self.call("push/terminate", #"{"mediaSessionId":"\#(id)"}"#, on: stage)
            try await Self.call("mixer/terminate", #"{"uri":"mixer://m1"}"#, on: stage)
            try await waitUntil("its processes have ended") { stage.workers.isEmpty }
        }
    }

    /// Makes a REST call that must succeed, and returns its answer.
    @discardableResult
    private static func call(_ name: String, _ body: String, on stage: Stage) async throws -> String {
        let answer = try await stage.client.request("POST", "/rest-api/\(name)", json: body)
        guard answer.status == 200 else { throw EndToEndError("\(name): \(answer.status) \(answer.text)") }
        return answer.text
    }

    private struct File: Decodable {
        var file: String
        var state: String
    }

    private static func files(of room: String, on stage: Stage) async throws -> [File] {
        struct List: Decodable { var recordings: [File] }
        let answer = try await stage.client.request("GET", "/v1/rooms/\(room)/recordings")
        guard answer.status == 200 else { return [] }
        return try JSONDecoder().decode(List.self, from: answer.body).recordings
    }

    /// Downloads a recording.
    ///
    /// - Returns: The numbers of frames that decoders find in its video and its sound.
    private static func frames(of file: String, in room: String, on stage: Stage) async throws -> [Int] {
        let local = stage.directory.appendingPathComponent("\(room)-\(file)")
        let answer = try await stage.client.request("GET", "/v1/rooms/\(room)/recordings/\(file)")
        #expect(answer.status == 200)
        try answer.body.write(to: local)
        var frames: [Int] = []
        for track in ["v", "a"] {
            let reader = try ManagedProcess(
                "ffprobe-\(room)-\(track)", "ffprobe",
                [
                    "-v", "error", "-count_frames", "-select_streams", track, "-show_entries", "stream=nb_read_frames",
                    "-of", "csv=p=0", local.path,
                ], in: stage.directory)
            try await waitUntil("ffprobe has read \(file)\n\(reader.messages())") { !reader.isRunning }
            // Any complaint is printed too, and is no number.
            frames.append(try #require(Int(reader.messages()), "\(reader.messages())"))
        }
        return frames
    }
}
