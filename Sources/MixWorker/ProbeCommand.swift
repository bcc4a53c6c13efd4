import ArgumentParser
import Dispatch
import Foundation
import LayoutEngine
import ViewerProbe

/// `mixworker probe`: records a program as a viewer receives it, then judges it.
struct ProbeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe",
        abstract: "Records a program as a viewer receives it and judges every switch between bypass and mix.",
        discussion: """
            The exit status is 0 only if every limit is met. SIGINT and SIGTERM end the recording, which is then judged.
            """)

    @Argument(help: "rtmp://…, http://….flv, or an FLV file recorded earlier.")
    var url: String

    @Option(help: "Scene that may be on air: a JSON file with a scene, a list of scenes, or a task. Repeatable.")
    var scene: [String] = []

    @Option(help: "Canvas of scenes that do not state one: WIDTHxHEIGHT@FPS.")
    var canvas = "720x1280@20"

    @Option(help: "Synthetic source that may be on air: ID[:WIDTHxHEIGHT[@FPS]]. Default: 1 to 4, 720x1280@20.")
    var publisher: [String] = []

    @Flag(help: "The sources are those of `publish --person`, with the mark in a corner.")
    var people = false

    @Option(help: "Seconds to record. Default: until the stream ends or a signal arrives.")
    var duration: Double?

    @Option(help: "File to keep the recording in. Default: discard it.")
    var record: String?

    @Option(help: "Write the report to this file.")
    var json: String?

    @Option(help: "Required number of splices between bypass and mix.")
    var expectSwitches: Int?

    @Option(help: "Write contact-sheet.png to this directory.")
    var contactSheet: String?

    @Option(help: "Draw what was on air, packet spacing and A/V offset over time: a file .svg or .png.")
    var plot: String?

    @Flag(help: "Reconnect when the stream ends.")
    var reconnect = false

    func validate() throws {
        guard let duration else { return }
        guard 0.1...1_000_000 ~= duration else {
            throw ValidationError("--duration \(duration): expected 0.1 to 1000000 seconds")
        }
    }

    func run() async throws {
        var configuration = ProbeConfiguration(publishers: try publishers(), expectedSwitches: expectSwitches)
        let recording: FLVRecording
        var temporary: String?
        if url.contains("://") {
            let path = record ?? FileManager.default.temporaryDirectory.path + "/probe-\(UUID().uuidString).flv"
            if record == nil { temporary = path }
            recording = try await capture(to: path)
        } else {
            recording = FLVRecording(existing: url)
        }
        defer {
            if let temporary {
                try? FileManager.default.removeItem(atPath: temporary)
                try? FileManager.default.removeItem(atPath: temporary + ".arrivals")
            }
        }
        if recording.arrivals.isEmpty, let error = recording.lastError { throw error }
        // Read only now, so that scenes may still be added while the program runs.
        configuration.scenes = try scenes()
        let judgement = try await Probe.judgement(recording, configuration)
        let report = judgement.report
        print(report.table)
        if let json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try encoder.encode(report).write(to: URL(fileURLWithPath: json))
        }
        if let plot { try judgement.plot.write(to: plot) }
        if let contactSheet {
            try FileManager.default.createDirectory(atPath: contactSheet, withIntermediateDirectories: true)
            try ContactSheet.write(recording, report, to: contactSheet + "/contact-sheet.png")
        }
        if !report.isWithinLimits { throw ExitCode.failure }
    }

    private func capture(to path: String) async throws -> FLVRecording {
        let recorder = ProbeRecorder(url: url, path: path, retries: reconnect)
        // The default action would end the process without a judgement.
        let sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { recorder.stop() }
            source.resume()
            return source
        }
        defer { for source in sources { source.cancel() } }
        try recorder.start()
        guard let duration else { return await recorder.recording() }
        return await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await Task.sleep(for: .seconds(duration))
                recorder.stop()
            }
            let recording = await recorder.recording()
            group.cancelAll()
            return recording
        }
    }

    private func publishers() throws -> [SyntheticPublisher] {
        let person = people ? "" : nil
        guard !publisher.isEmpty else { return (1...4).map { SyntheticPublisher(id: $0, person: person) } }
        return try publisher.map { text in
            let parts = text.split(separator: ":")
            var result = SyntheticPublisher(id: Int(parts.first ?? "") ?? -1, person: person)
            if parts.count > 1 {
                let shape = parts[1].split(separator: "@")
                let size = (shape.first ?? "").split(separator: "x").compactMap { Int($0) }
                if size.count == 2 { (result.width, result.height) = (size[0], size[1]) } else { result.id = -1 }
                if shape.count > 1 { result.fps = Int(shape[1]) ?? 0 }
            }
            guard (0...15).contains(result.id), result.width >= 80, result.height >= 80, (1...60).contains(result.fps)
            else { throw ValidationError("--publisher \(text): expected ID[:WIDTHxHEIGHT[@FPS]]") }
            return result
        }
    }

    private func scenes() throws -> [Scene] {
        let numbers = canvas.split(whereSeparator: { "x@".contains($0) }).compactMap { Int($0) }
        guard numbers.count == 3 else { throw ValidationError("--canvas \(canvas): expected WIDTHxHEIGHT@FPS") }
        let fallback = Canvas(width: numbers[0], height: numbers[1], fps: numbers[2])
        return try scene.flatMap { path -> [Scene] in
            guard let data = FileManager.default.contents(atPath: path) else {
                throw ValidationError("--scene \(path): cannot be read")
            }
            do {
                return try SceneDocument.scenes(data, canvas: fallback)
            } catch {
                throw ValidationError("--scene \(path): neither a scene, nor a list of scenes, nor a task: \(error)")
            }
        }
    }
}
