import ChildProcesses
import Foundation
import Synchronization
import TestSupport
import Testing
import EncodedMedia

@testable import MediaFormats
@testable import ProgramRelay
@testable import RTMP

/// A real nginx with the RTMP module, as deploy/media-server.sh starts it.
struct OutputMediaServer {
    let directory: URL
    let rtmpPort: Int
    let httpPort: Int
    let processID: Int32

    /// - Parameter ports: Ports of an earlier server, to return to its address; 0 for free ones, which are kept for it
    ///   and its successors.
    static func start(in directory: URL? = nil, ports: (rtmp: Int, http: Int) = (0, 0)) async throws
        -> OutputMediaServer
    {
        let rtmp = try ports.rtmp == 0 ? Int(PullSender.freePort()) : ports.rtmp
        let http = try ports.http == 0 ? Int(PullSender.freePort()) : ports.http
        let directory =
            directory
            ?? FileManager.default.temporaryDirectory.appendingPathComponent("media-\(UUID().uuidString)")
        // To a file: nginx keeps running, and would keep a pipe open.
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let answer = directory.appendingPathComponent("answer")
        let result = try await outputTool(
            "/bin/sh",
            ["-c", "\"$0\" start \"$1\" \(rtmp) \(http) >\"$2\" 2>&1", script, directory.path, answer.path])
        let text = try String(contentsOf: answer, encoding: .utf8)
        try #require(result == 0, "\(text)")
        func number(_ key: String) throws -> Int {
            let line = text.split(separator: "\n").first { $0.hasPrefix("\(key)=") }
            return try #require(line.flatMap { Int($0.dropFirst(key.count + 1)) }, "\(text)")
        }
        return OutputMediaServer(
            directory: directory, rtmpPort: try number("RTMP_PORT"), httpPort: try number("HTTP_PORT"),
            processID: Int32(try number("PID")))
    }

    /// Signals the master and the worker, which does the work.
    func signal(_ number: Int32) throws {
        let children = try String(contentsOfFile: "/proc/\(processID)/task/\(processID)/children", encoding: .utf8)
        for process in [processID] + children.split(separator: " ").compactMap({ Int32($0) }) { kill(process, number) }
    }

    func stop() async {
        _ = try? await outputTool(Self.script, ["stop", directory.path])
    }

    func remove() async {
        await stop()
        try? FileManager.default.removeItem(at: directory)
    }

    func url(_ name: String, application: String = "live") -> String {
        "rtmp://127.0.0.1:\(rtmpPort)/\(application)/\(name)"
    }

    /// Returns whether a publisher holds `name`.
    func isPublished(_ name: String) async throws -> Bool {
        let url = try #require(URL(string: "http://127.0.0.1:\(httpPort)/stat"))
        let page = directory.appendingPathComponent("stat-\(UUID().uuidString)")
        guard try await outputTool("/usr/bin/env", ["curl", "-s", "-o", page.path, url.absoluteString]) == 0 else {
            return false
        }
        let text = try String(contentsOf: page, encoding: .utf8)
        let stream = text.components(separatedBy: "<stream>").first { $0.contains("<name>\(name)</name>") }
        return stream?.contains("<publishing/>") ?? false
    }

    private static var script: String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("deploy/media-server.sh").path
    }
}

/// Runs a program to its end without blocking a cooperative thread; returns its exit status.
///
/// Does not use Foundation's `Process`, which waits for every process that has inherited its socket, and nginx stays as
/// a daemon.
func outputTool(_ program: String, _ arguments: [String]) async throws -> Int32 {
    let process = try ProcessLaunch(program, arguments).start()
    return await withCheckedContinuation { continuation in
        process.onExit { exit in
            if case .status(let status) = exit {
                continuation.resume(returning: status)
            } else {
                continuation.resume(returning: -1)
            }
        }
    }
}

/// Waits for a condition, polling every 20 ms.
func outputEventually(
    within limit: Duration = .seconds(60), _ condition: () async throws -> Bool
) async throws -> Bool {
    try await poll(within: limit, every: .milliseconds(20)) { try await condition() ? true : nil } ?? false
}

/// Programs that were made before, because many tests need the same one.
private enum OutputPrograms {
    static let made = Mutex<[String: [FLVTag]]>([:])
}

/// Returns a program of `seconds` seconds made by ffmpeg: H.264 with B-frames, an IDR per second, and AAC.
func outputProgram(seconds: Int, bitrate: String = "400k") async throws -> [FLVTag] {
    let name = "\(seconds) s at \(bitrate)"
    if let made = OutputPrograms.made.withLock({ $0[name] }) { return made }
    let program = try await makeOutputProgram(seconds: seconds, bitrate: bitrate)
    OutputPrograms.made.withLock { $0[name] = program }
    return program
}

private func makeOutputProgram(seconds: Int, bitrate: String) async throws -> [FLVTag] {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("program-\(UUID().uuidString).flv")
    defer { try? FileManager.default.removeItem(at: file) }
    let status = try await outputTool(
        "/usr/bin/env",
        [
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25", "-f", "lavfi", "-i",
            "sine=frequency=440:sample_rate=48000", "-t", "\(seconds)", "-c:v", "libx264", "-preset", "ultrafast",
            "-bf", "2", "-b:v", bitrate, "-g", "25", "-sc_threshold", "0", "-pix_fmt", "yuv420p", "-c:a", "aac", "-f",
            "flv",
            "-y", file.path,
        ])
    try #require(status == 0)
    var reader = FLVReader()
    let items = try reader.push([UInt8](try Data(contentsOf: file)))
    // FLV allows no negative times; ffmpeg has shifted the program so that it begins at 0.
    return items.compactMap { item in
        switch item {
        case .configuration(let configuration): FLVTag(configuration, at: .zero, origin: .zero)
        case .frame(let frame): FLVTag(frame, origin: .zero)
        case .metadata(let body): FLVTag(role: .metadata, timestamp: 0, body: body)
        case .discontinuity: nil
        }
    }
}

extension DestinationOutput {
    /// Sends `tags` at the times of their timestamps, `speed` times as fast.
    func play(_ tags: [FLVTag], speed: Double = 1) async throws {
        let start = ContinuousClock.now
        let first = tags.first { $0.timestamp > 0 }?.timestamp ?? 0
        for tag in tags {
            let due = start + .milliseconds(Int(Double(tag.timestamp &- min(first, tag.timestamp)) / speed))
            if due > .now { try await Task.sleep(until: due) }
            send([tag])
        }
    }

    /// Sends `tags` at the times of their timestamps until the body returns.
    func whilePlaying(_ tags: [FLVTag], _ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.play(tags) }
            try await body()
            group.cancelAll()
        }
    }
}
