import Foundation
import MixModel
import Synchronization
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramRelay

/// A directory for the recordings of one test.
struct RecorderBench {
    let directory: URL
    let reports = Reports()

    /// Reports of a recorder's process.
    final class Reports: Sendable {
        let lines = Mutex<[UInt8]>([])
    }

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        directory = FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    func remove() { try? FileManager.default.removeItem(at: directory) }

    static var canMount: Bool { (try? shell("unshare -m mount -t tmpfs tmpfs /mnt")) != nil }

    var settings: RecorderSettings {
        RecorderSettings(
            room: "room", task: "auto-room",
            recording: PlannedRecording(
                settings: RecordingSettings(id: "test", startedAt: 1_000_000_000),
                directory: directory.path + "/files", keepFreeBytes: 0))
    }

    /// Settings in the form that a recorder's process reads.
    var line: [UInt8] {
        get throws { [UInt8](try JSONEncoder().encode(settings)) + [0x0A] }
    }

    func recorder() -> Recorder { Recorder(settings: settings) { _ in } }

    func process() throws -> WorkerProcess {
        try WorkerProcess(
            executable: try Self.worker(), arguments: ["recorder"],
            onBytes: { [reports] bytes in reports.lines.withLock { $0 += bytes } }, onExit: { _ in })
    }

    static func worker() throws -> URL {
        let products = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let worker = URL(filePath: products).deletingLastPathComponent().appending(path: "mixworker")
        try #require(FileManager.default.isExecutableFile(atPath: worker.path), "build mixworker first")
        return worker
    }

    /// Waits until the single file has `count` bytes.
    func waitForBytes(_ count: Int) async {
        var size = 0
        for _ in 0..<6_000 {
            let file = try? files().first { $0.hasSuffix(".mp4") }
            size = file.flatMap { try? FileManager.default.attributesOfItem(atPath: $0)[.size] as? Int } ?? 0
            if size >= count { return }
            try? await Task.sleep(for: .milliseconds(10))
        }
        let told = reports.lines.withLock { String(decoding: $0, as: UTF8.self) }
        Issue.record("the file stays short: \(size) of \(count) bytes; \(told)")
    }

    func path(_ name: String) -> String { directory.path + "/files/" + name }

    func files(in folder: String = "files") throws -> [String] {
        let path = directory.path + "/" + folder
        return try FileManager.default.contentsOfDirectory(atPath: path).sorted().map { path + "/" + $0 }
    }

    func onlyFile() throws -> String {
        let files = try files()
        #expect(files.count == 2, "a file and its manifest: \(files)")
        return try #require(files.first { $0.hasSuffix(".mp4") })
    }

    func manifests() throws -> [RecordingManifest] {
        try files().filter { $0.hasSuffix(".json") }.map {
            try JSONDecoder().decode(RecordingManifest.self, from: Data(contentsOf: URL(filePath: $0)))
        }.sorted { $0.part < $1.part }
    }

    func expectFailure(_ code: String, _ settings: RecorderSettings) throws {
        var reports: [RecorderReport] = []
        let recorder = Recorder(settings: settings) { reports.append($0) }
        try recorder.push(FLVTag.fileHeader + ConsumerBench.tags(groups: 2).flatMap(\.encoded))
        #expect(recorder.isOver && reports.last?.state == .failed)
        #expect(reports.last?.error?.code == code, "\(reports)")
    }

    /// Runs a script with the directory and the worker in its environment.
    func shell(_ script: String, inNamespace: Bool) throws -> String {
        try Self.shell(
            script, prefix: inNamespace ? ["unshare", "-m"] : [],
            environment: ["DIR": directory.path, "WORKER": try Self.worker().path])
    }

    static func shell(
        _ script: String, prefix: [String] = [], environment: [String: String] = [:]
    ) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = prefix + ["bash", "-c", script]
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        struct Failed: Error { var status: Int32 }
        guard process.terminationStatus == 0 else { throw Failed(status: process.terminationStatus) }
        return String(decoding: data, as: UTF8.self)
    }
}

/// A program of two sources of different sizes, one after the other and back, in the form that a relay makes.
struct RecorderStream {
    let bytes: [UInt8]
    /// Times of the pictures in decoding order, in seconds of program time.
    let pictures: [(pts: Double, dts: Double)]
    let firstSound: Double
    let sounds: Int
    /// Time of its first frame.
    let start: MediaTime
    let seconds: Double
    /// Hash of every decoded picture, in display order.
    let hashes: [String]

    /// Creates 9 s at 25 pictures a second; the first and the last third have `bFrames` B-frames.
    static func make(bFrames: Int) async throws -> RecorderStream {
        let directory = FileManager.default.temporaryDirectory.path + "/recording-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let encode = "-c:v libx264 -preset ultrafast -g 25 -pix_fmt yuv420p -c:a aac -ac 2 -ar 48000 -t 3"
        // The mix has parameter sets with another number, in band like ours.
        _ = try RecorderBench.shell(
            """
            cd '\(directory)' &&
            ffmpeg -v error -f lavfi -i testsrc2=size=180x320:rate=25 -f lavfi -i sine=440:sample_rate=48000 \(encode) \
                -bf \(bFrames) a.flv &&
            ffmpeg -v error -f lavfi -i testsrc2=size=320x180:rate=25 -f lavfi -i sine=880:sample_rate=48000 \(encode) \
                -bf 0 -x264-params sps-id=7:repeat-headers=1 b.flv
            """)
        // Like a relay's first timestamps: not 0, and beyond 24 bits.
        var tags: [FLVTag] = []
        var time = MediaTime.seconds(20_000)
        let start = time
        for name in ["a", "b", "a"] {
            var reader = FLVReader()
            let items = try reader.push([UInt8](try Data(contentsOf: URL(filePath: "\(directory)/\(name).flv"))))
            var last = MediaTime.zero
            for item in items {
                switch item {
                case .metadata, .discontinuity: break
                case .configuration(let configuration): tags.append(FLVTag(configuration, at: time, origin: .zero))
                case .frame(var frame):
                    if frame.track == .video { last = max(last, frame.dts) }
                    frame.pts += time
                    frame.dts += time
                    tags.append(FLVTag(frame, origin: .zero))
                }
            }
            time += last + .milliseconds(40)
        }
        // Sound from before the keyframe is not recorded.
        let first = try #require(tags.firstIndex { $0.isIDR })
        var reader = FLVReader()
        let bytes = FLVTag.fileHeader + tags.flatMap(\.encoded)
        let frames = try reader.push(bytes).compactMap { if case .frame(let frame) = $0 { frame } else { nil } }
        let begin = MediaTime.milliseconds(tags[first].timestamp)
        let flv = directory + "/program.flv"
        try Data(bytes).write(to: URL(filePath: flv))
        let sounds = frames.filter { $0.track == .audio && $0.pts >= begin }
        return RecorderStream(
            bytes: bytes,
            pictures: frames.filter { $0.track == .video }.map {
                (($0.pts - begin).inSeconds, ($0.dts - begin).inSeconds)
            },
            firstSound: try #require(sounds.first.map { ($0.pts - begin).inSeconds }), sounds: sounds.count,
            start: begin,
            seconds: (time - start).inSeconds, hashes: try FileProbe.hashes(flv))
    }

    /// Checks that a file has the program's pictures at the program's times, decoding to the same pixels, and the sound
    /// beside them.
    func expectWhole(_ path: String, missingSeconds: Double = 0) throws {
        let probe = try FileProbe(path)
        let least = Int((seconds - missingSeconds) * 25)
        #expect(probe.pictures.count >= (missingSeconds > 0 ? least : pictures.count))
        for (found, expected) in zip(probe.pictures, pictures) where abs(found.pts - expected.pts) > 0.0005 {
            Issue.record("a picture at \(found.pts) s should be at \(expected.pts) s")
            break
        }
        #expect(abs((probe.sounds.first ?? 0) - firstSound) < 0.002, "sound is beside its picture")
        #expect(probe.sounds.count >= sounds - 1 - Int(missingSeconds * 48))
        let decoded = try FileProbe.hashes(path)
        #expect(decoded.count >= (missingSeconds > 0 ? least - 2 : hashes.count))
        #expect(Array(hashes.prefix(decoded.count)) == decoded, "every picture is the program's, in sequence")
    }
}

/// Properties of a file as found by ffmpeg.
struct FileProbe {
    let pictures: [(pts: Double, dts: Double)]
    let sounds: [Double]
    let size: Int
    let indexed: Bool
    let decodeErrors: String

    init(_ path: String) throws {
        func packets(_ track: String) throws -> [[Double]] {
            try RecorderBench.shell(
                "ffprobe -v error -select_streams \(track) -show_entries packet=pts_time,dts_time -of csv=p=0 '\(path)'"
            ).split(separator: "\n").map { $0.split(separator: ",").compactMap { Double($0) } }
        }
        pictures = try packets("v").compactMap { $0.count >= 2 ? ($0[0], $0[1]) : nil }
        sounds = try packets("a").compactMap(\.first)
        decodeErrors = try RecorderBench.shell("ffmpeg -nostdin -v error -i '\(path)' -f null - 2>&1")
        let data = try Data(contentsOf: URL(filePath: path))
        size = data.count
        let boxes = MP4Boxes(data).types
        indexed = boxes == ["ftyp", "mdat", "moov"]
    }

    /// Returns the hash of every decoded picture, in display order.
    static func hashes(_ path: String) throws -> [String] {
        try RecorderBench.shell(
            "ffmpeg -nostdin -v quiet -i '\(path)' -map 0:v -vf scale=180:320 -fps_mode passthrough -f framemd5 -"
        ).split(separator: "\n").filter { !$0.hasPrefix("#") }
            .compactMap { $0.split(separator: ",").last.map { $0.trimmingCharacters(in: .whitespaces) } }
    }
}

/// The top-level boxes of a file.
private struct MP4Boxes {
    var types: [String] = []

    init(_ data: Data) {
        let bytes = [UInt8](data)
        var position = 0
        func number(_ start: Int, _ count: Int) -> Int { bytes[start..<start + count].reduce(0) { $0 << 8 | Int($1) } }
        while position + 16 <= bytes.count {
            var size = number(position, 4)
            types.append(String(decoding: bytes[position + 4..<position + 8], as: UTF8.self))
            if size == 1 { size = number(position + 8, 8) }
            guard size >= 8 else { break }
            position += size
        }
    }
}
