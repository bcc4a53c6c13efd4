import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import Testing

@testable import ViewerProbe

/// A channel that is never empty: files are played while the room is empty.
@Suite(.serialized) struct IdleTests {
    private static let clipColour = RGB(red: 40, green: 150, blue: 70)

    /// The room is empty, has alice, is empty and has alice again: the viewer gets all of it on one connection, without
    /// a missing or black picture.
    @Test(.timeLimit(.minutes(15))) func filesArePlayedWhileNobodyIsOnAir() async throws {
        let clip = SyntheticPublisher(
            id: 9, width: 360, height: 640, gopSeconds: 1, colour: Self.clipColour, seconds: 3)
        try await Stage.run(
            canvas: Canvas(width: 360, height: 640, fps: 20),
            environment: ["MIXORCHESTRATOR_MEDIA_DIRECTORY": "%STAGE%/media"]
        ) { stage in
            let media = stage.directory.appendingPathComponent("media")
            try FileManager.default.createDirectory(at: media, withIntermediateDirectories: true)
            try await Self.write(clip, to: media.appendingPathComponent("clip.flv"), of: stage)
            try Data("no media".utf8).write(to: media.appendingPathComponent("broken.mp4"))
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1))
            let room = try await stage.client.request(
                "PUT", "/v1/rooms/\(stage.room)",
                json: """
                    {"outputs": [{"id": "cdn", "url": "\(stage.media.cdn(stage.room))"}],
                     "canvas": {"width": 360, "height": 640, "fps": 20}, "layout": "side-by-side",
                     "idle": {"media": ["clip.flv", "broken.mp4"]}}
                    """)
            #expect((200..<300).contains(room.status), "\(room.text)")
            try await stage.join("alice")
            try await stage.waitForOnAir("bypass")
            let viewer = try await stage.watch()
            try await Task.sleep(for: .seconds(2))
            for round in 1...2 {
                try await stage.leave("alice")
                try await stage.waitForOnAir("slate")
                var idle = ""
                try await waitUntil("the file is played: \(idle)") {
                    idle = try await Self.idle(of: stage)
                    return idle.hasPrefix("playing clip.flv")
                }
                // The wait covers one and a half rounds of the clip.
                try await Task.sleep(for: .seconds(5))
                try await waitUntil("what cannot be played is told of") {
                    try await Self.complaints(of: stage) >= round
                }
                try await stage.join("alice")
                try await stage.waitForOnAir("bypass")
                try await Task.sleep(for: .seconds(2))
            }
            let told = try await Self.complaints(of: stage)
            #expect(told == 2, "once each time")
            viewer.stop()
            let recording = await viewer.recording()
            #expect(recording.connections == 1 && recording.publisherLosses == 0)
            let trace = try recording.trace()
            for (name, track) in [("pictures", trace.video), ("sound", trace.audio)] {
                let times = track.map(\.frame.dts)
                let steps = zip(times, times.dropFirst()).map { ($1 - $0).inMilliseconds }
                print("\(name): \(times.count), steps \(steps.min() ?? 0) to \(steps.max() ?? 0) ms")
                #expect((steps.min() ?? 0) > 0 && (steps.max() ?? 0) < 105)
            }
            let decoded = try SoundDecoder.decode(trace)
            #expect(decoded.errors.isEmpty, "\(decoded.errors)")
            let report = try await stage.judge(recording)
            #expect(report.decodeErrors.isEmpty, "\(report.decodeErrors)")
            try Self.checkPictures(of: recording)
        }
    }

    /// Checks that every picture shows alice or the clip: none is black or the canvas's background.
    private static func checkPictures(of recording: FLVRecording) throws {
        var counts: [String: Int] = [:]
        var strange: [Int64] = []
        let colours = [("alice", SyntheticPublisher(id: 1).colour), ("clip", clipColour)].map {
            ($0.0, ColourSample($0.1, matrix: .bt601))
        }
        _ = try PictureDecoder.decode(recording.path) { time, picture in
            let (width, height) = (Double(picture.width), Double(picture.height))
            let seen = picture.meanColour(x: width * 0.4, y: height * 0.7, width: width * 0.2, height: height * 0.1)
            let kind = colours.first { _, colour in
                guard let seen else { return false }
                let distances = [seen.luma - colour.luma, seen.blue - colour.blue, seen.red - colour.red]
                return distances.allSatisfy { abs($0) < 12 }
            }
            counts[kind?.0 ?? "other", default: 0] += 1
            if kind == nil { strange.append(time) }
        }
        print(counts)
        #expect(strange.isEmpty, "pictures of nobody at \(strange)")
        #expect(counts["clip"] ?? 0 > 80 && counts["alice"] ?? 0 > 20)
    }

    /// Returns the number of timeline entries about the file that is not media.
    private static func complaints(of stage: Stage) async throws -> Int {
        try await stage.client.timeline(stage.room).count { $0.contains("broken.mp4 cannot be played") }
    }

    private static func idle(of stage: Stage) async throws -> String {
        struct Task: Decodable { var idle: IdleStatus? }
        let text = try await stage.client.request("GET", "/v1/tasks/auto-\(stage.room)").text
        let idle = try JSONDecoder().decode(Task.self, from: Data(text.utf8)).idle
        return idle.map { "\($0.state) \($0.media ?? "")" } ?? "none"
    }

    private static func write(_ clip: SyntheticPublisher, to file: URL, of stage: Stage) async throws {
        let arguments = clip.arguments(url: file.path).filter { $0 != "-re" }
        let process = try ManagedProcess("clip", "ffmpeg", arguments, in: stage.directory)
        try await waitUntil("the clip is made") { !process.isRunning }
        guard process.exitStatus == 0 else { throw EndToEndError("the clip is not made: \(process.messages())") }
    }
}
