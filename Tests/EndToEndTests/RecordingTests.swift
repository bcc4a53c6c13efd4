import Foundation
import GStreamerKit
import Synchronization
import TestSupport
import Testing
import EncodedMedia

@testable import LayoutEngine
@testable import ViewerProbe

/// Recording while a program is on air does not affect the program.
@Suite(.serialized) struct RecordingTests {
    /// A recording is started and stopped twice on air, across both switches, with a killed service and a killed
    /// recorder in between.
    @Test(.timeLimit(.minutes(6)), arguments: TestLength.of(short: [2], long: [0, 2]))
    func recordingsComeAndGoOnAir(bFrames: Int) async throws {
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20)) { stage in
            try await stage.publish(
                "alice", SyntheticPublisher(id: 1, width: 360, height: 640, bFrames: bFrames, gopSeconds: 1))
            try await stage.publish("bob", SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            let viewer = try await stage.watch()
            let shelf = RecordingClient(stage: stage)
            try await Task.sleep(for: .seconds(1))

            try await shelf.start(#"{"participants":true}"#)
            try await waitUntil("recording runs") { try await shelf.isRunning }
            try await Task.sleep(for: .seconds(2))
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await Task.sleep(for: .seconds(2))
            // The service's death does not affect relay and recorder.
            try await stage.killService()
            try await stage.startServiceAgain()
            try await waitUntil("recording is known to run") { try await shelf.isRunning }
            try await stage.leave("bob")
            try await stage.waitForOnAir("bypass")
            try await Task.sleep(for: .seconds(2))
            try await shelf.stop()
            let first = try await shelf.closed(count: 3)
            #expect(Set(first.map(\.source)) == [nil, "alice/camera", "bob/camera"])

            try await shelf.start("")
            try await waitUntil("recording runs again") { try await shelf.isRunning }
            try await Task.sleep(for: .seconds(3))
            // A killed recorder is replaced, and its file can be played as it is.
            let recorder = try #require(stage.recorders.first)
            kill(recorder, SIGKILL)
            try await waitUntil("another recorder writes another file") {
                try await shelf.files().filter { $0.part == 2 && $0.state == "recording" }.count == 1
            }
            try await Task.sleep(for: .seconds(3))
            try await shelf.stop()
            let all = try await shelf.closed(count: 5)

            try await Task.sleep(for: .seconds(1))
            let report = try await stage.judge(viewer, expectedSwitches: 2)
            #expect(report.isWithinLimits, "\(report.table)")
            #expect(report.connections == 1 && report.isWhole(), "\(report.sources)")

            for file in all {
                let judged = try await shelf.judge(file)
                #expect(judged.decodeErrors.isEmpty, "\(file.file): \(judged.decodeErrors)")
                #expect(judged.steps.isEmpty, "\(file.file): pictures out of step: \(judged.steps)")
                #expect(judged.pictures > 5)
                // Decoders that work ahead may withhold the last pictures of a file that was never closed.
                let shown = try await shelf.picturesInGStreamer(file)
                #expect(abs(shown - judged.pictures) <= 4, "\(file.file): \(shown) of \(judged.pictures)")
                print("\(file.source ?? "program") part \(file.part): \(judged.pictures) pictures, \(file.duration) s")
            }
            let program = try #require(first.first { $0.source == nil })
            #expect(program.switches == ["bypass", "mix", "bypass"])
            #expect(program.duration > 3)
            let timeline = try await stage.client.timeline(stage.room)
            #expect(
                timeline.contains { $0.contains("recording-failed") && $0.contains("recorder_lost") }, "\(timeline)")
        }
    }

    /// A participant who takes over is moved onto the program's frame grid; the participant's own file has no step
    /// there.
    @Test(.timeLimit(.minutes(5))) func takingOverIsNoStepInAFile() async throws {
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20)) { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1))
            try await stage.publish("bob", SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            let shelf = RecordingClient(stage: stage)
            try await shelf.start(#"{"participants":true}"#)
            try await waitUntil("recording runs") { try await shelf.isRunning }
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await waitUntil("three files are written") {
                try await shelf.files().count { $0.state == "recording" } == 3
            }
            try await Task.sleep(for: .seconds(2))
            try await stage.leave("alice")
            try await stage.waitForOnAir("bypass")
            try await Task.sleep(for: .seconds(2))
            try await shelf.stop()
            for file in try await shelf.closed(count: 3) {
                let judged = try await shelf.judge(file)
                #expect(judged.steps.isEmpty, "\(file.file): pictures out of step: \(judged.steps)")
                #expect(judged.decodeErrors.isEmpty && judged.pictures > 5, "\(file.file): \(judged)")
            }
        }
    }

    /// A room without any output is recorded; write errors are reported, and the program continues.
    @Test(.timeLimit(.minutes(5))) func aRoomWithoutOutputsIsRecorded() async throws {
        try await Stage.run { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1))
            _ = try await stage.client.request(
                "PUT", "/v1/rooms/\(stage.room)", json: #"{"outputs":[],"recording":true}"#)
            try await stage.join("alice")
            let shelf = RecordingClient(stage: stage)
            try await waitUntil("recording runs") { try await shelf.isRunning }
            try await Task.sleep(for: .seconds(2))
            let directory = try #require(stage.recordingDirectory)
            try FileManager.default.removeItem(atPath: directory)
            try await waitUntil("the loss is told, and nothing is recorded") {
                guard try await shelf.errorCode == "recording_removed" else { return false }
                return try await !shelf.isRunning
            }
            // The program continues.
            try await stage.waitForOnAir("bypass")
            // A new request starts the recording again.
            try await shelf.start("")
            try await waitUntil("recording runs again") {
                guard try await shelf.isRunning else { return false }
                return try await shelf.errorCode == nil
            }
            try await stage.client.deleteRoom(stage.room)
            try await waitUntil("its processes end") { stage.workers.isEmpty }
            try await waitUntil("all files are closed") {
                try await shelf.files().allSatisfy { $0.state == "complete" }
            }
        }
    }
}

/// A room's recordings over HTTP.
private struct RecordingClient {
    struct File {
        var file: String
        var source: String?
        var state: String
        var part: Int
        var duration: Double
        var switches: [String]
    }
    struct Judgement {
        var pictures = 0
        /// Times in seconds of pictures that are not one interval after their predecessor, and their distances from it.
        var steps: [(at: Double, step: Double)] = []
        var decodeErrors = ""
    }

    let stage: Stage

    private var path: String { "/v1/rooms/\(stage.room)/recording" }

    func start(_ settings: String) async throws {
        let answer = try await stage.client.request("PUT", path, json: settings)
        #expect(answer.status == 200, "\(answer.text)")
    }

    func stop() async throws {
        let answer = try await stage.client.request("DELETE", path)
        #expect(answer.status == 204, "\(answer.text)")
    }

    var isRunning: Bool {
        get async throws {
            let state = try await recording
            return state["running"] as? Bool == true
                && (state["streams"] as? [[String: Any]])?.allSatisfy { $0["state"] as? String == "recording" } == true
        }
    }

    var errorCode: String? { get async throws { try await (recording["error"] as? [String: Any])?["code"] as? String } }

    private var recording: [String: Any] {
        get async throws { try object(await stage.client.request("GET", path).text) }
    }

    func files() async throws -> [File] {
        let list = try object(await stage.client.request("GET", path + "s").text)
        return (list["recordings"] as? [[String: Any]] ?? []).map { file in
            File(
                file: file["file"] as? String ?? "", source: file["source"] as? String,
                state: file["state"] as? String ?? "", part: file["part"] as? Int ?? 0,
                duration: file["duration"] as? Double ?? 0,
                switches: (file["switches"] as? [[String: Any]] ?? []).compactMap { $0["to"] as? String })
        }
    }

    /// Returns the files as soon as there are `count`, all of them closed.
    func closed(count: Int) async throws -> [File] {
        try await waitUntil("\(count) files are closed") {
            let files = try await files()
            return files.count == count && files.allSatisfy { $0.state == "complete" }
        }
        return try await files()
    }

    /// Fetches the file and checks the time of every picture.
    func judge(_ file: File) async throws -> Judgement {
        let local = stage.directory.appending(path: "fetched-\(file.file)")
        let answer = try await stage.client.request("GET", "\(path)s/\(file.file)")
        #expect(answer.status == 200)
        try answer.body.write(to: local)
        var result = Judgement()
        result.decodeErrors = try run("ffmpeg -nostdin -v error -xerror -i '\(local.path)' -f null - 2>&1")
        let times = try run(
            "ffprobe -v error -select_streams v -show_entries packet=pts_time -of csv=p=0 '\(local.path)'"
        ).split(separator: "\n").compactMap { Double($0.split(separator: ",").first ?? "") }.sorted().dropLast(3)
        // The recording may have been stopped between a picture and those displayed before it.
        result.pictures = times.count
        // The publishers make 20 pictures a second, and so does the mix.
        result.steps = zip(times, times.dropFirst()).map { ($1, $1 - $0) }.filter { abs($0.1 - 0.05) > 0.003 }
        return result
    }

    /// Returns the number of pictures that GStreamer finds in the fetched file, which it must play to the end.
    func picturesInGStreamer(_ file: File) async throws -> Int {
        let count = Mutex(0)
        let local = stage.directory.appending(path: "fetched-\(file.file)").path
        let pipeline = try Pipeline(
            "filesrc location=\"\(local)\" ! decodebin ! video/x-raw ! appsink name=out sync=false", name: "player")
        try pipeline.appSink("out") { _ in count.withLock { $0 += 1 } }
        try await pipeline.play()
        let isOver = await pipeline.waitForEnd(atMost: .seconds(60))
        #expect(isOver && pipeline.firstError == nil, "\(file.file): \(String(describing: pipeline.firstError))")
        await pipeline.tearDown()
        return count.withLock { $0 }
    }

    private func object(_ text: String) throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
    }

    private func run(_ script: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", script]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }
}

extension Stage {
    /// Process identifiers of the recorders of this service's relays.
    fileprivate var recorders: [Int32] { workers.filter { $0.arguments.contains("recorder") }.map(\.identifier) }

    fileprivate var recordingDirectory: String? {
        let all = directory.appending(path: "data/recordings").path
        return (try? FileManager.default.contentsOfDirectory(atPath: all))?.first.map { all + "/" + $0 }
    }
}
