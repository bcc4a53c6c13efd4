import ChildProcesses
import Foundation
import HTTPTypes
import Hummingbird
import TestSupport
import Testing

@testable import MixOrchestrator

/// Finished files on their way to a storage of another make, with all that can go wrong there.
@Suite(.serialized, .timeLimit(.minutes(10))) struct UploadFlowTests {
    private static let name = "20260101T000000Z-a"
    private static let list = "/v1/rooms/demo/recordings"

    private static func settings(_ storage: S3Storage, _ changes: [String: [String]] = [:]) -> [String: [String]] {
        [
            "upload.endpoint": [storage.endpoint], "upload.bucket": ["mix"],
            "upload.accessKey": [S3Storage.accessKey], "upload.secretKey": [S3Storage.secretKey],
            "upload.scanSeconds": ["0.1"], "upload.retrySeconds": ["0.1"], "upload.partBytes": ["5242880"],
        ].merging(changes) { $1 }
    }

    private static let backup: [String: [String]] = [
        "upload.backup.bucket": ["spare"], "upload.backup.prefix": ["copies of/{room}-{file}"],
        "upload.backup.accessKey": [S3Storage.accessKey], "upload.backup.secretKey": [S3Storage.secretKey],
    ]

    /// Makes a recording that was closed long ago.
    private static func record(_ directory: String, bytes: Int = 1000, name: String = name) throws -> [UInt8] {
        let content = [UInt8]((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) })
        try KeptFiles.makeRecording(directory, name, content: Data(content))
        try age("\(directory)/recordings/demo/\(name).mp4")
        return content
    }

    private static func age(_ path: String) throws {
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -60)], ofItemAtPath: path)
    }

    /// Returns the list once it has this value at a path.
    @discardableResult private static func wait(
        _ bench: Bench, _ path: String, _ value: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Answer {
        try await eventually("\(path) is not \(value)", sourceLocation: sourceLocation) {
            let answer = try await bench.call(.get, Self.list)
            return try answer.value(path) == value ? answer : nil
        }
    }

    @Test func filesAreStoredComparedAndLinked() async throws {
        try await withDirectory { directory in
            let storage = S3Storage(directory)
            try await storage.start()
            let content = try Self.record(directory)
            try KeptFiles.makeSession(directory, isEnded: true)
            let session = "\(directory)/hls/default/demo/1700000000000"
            for file in ["segments.jsonl", "vod.m3u8"] { try Self.age("\(session)/\(file)") }
            let settings = Self.settings(
                storage, Self.backup.merging(["upload.backup.endpoint": [storage.endpoint]]) { $1 })
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                for path in [
                    "recordings.0.storage.0", "recordings.0.storage.1", "archives.0.storage.0", "archives.0.storage.1",
                ] {
                    try await Self.wait(bench, "\(path).state", "stored")
                }
                let list = try await bench.call(.get, Self.list)
                #expect(try list.value("recordings.0.storage.0.key") == "demo/\(Self.name).mp4")
                #expect(try list.value("recordings.0.storage.1.key") == "copies of/demo-\(Self.name).mp4")
                #expect(try list.value("recordings.0.storage.1.target") == "backup")
                #expect(try list.isTrue("recordings.0.local") && list.isTrue("archives.0.local"))
                for target in 0...1 {
                    let link = try #require(try list.value("recordings.0.storage.\(target).url"))
                    #expect(try await storage.fetch(link).body == content)
                    let other = link.dropLast() + (link.hasSuffix("0") ? "1" : "0")
                    #expect(try await storage.fetch(String(other)).status == 403, "another signature")
                    #expect(try await storage.fetch(link.replacing("-a.mp4", with: "-b.mp4")).status == 403)
                }
                let archive = try #require(try list.value("archives.0.storage.0.url"))
                let zip = try await bench.client.execute(uri: "/live/demo/vod/1700000000000.zip", method: .get) {
                    Array($0.body.readableBytesView)
                }
                #expect(try await storage.fetch(archive).body == zip)

                let metrics = try await bench.call(.get, "/metrics").text
                #expect(metrics.contains(#"upload_files_total{target="main",result="stored"} 2"#), "\(metrics)")
                #expect(metrics.contains(#"upload_pending_files{target="backup",state="waiting"} 0"#))
                let ready = try await bench.call(.get, "/readyz")
                #expect(try ready.value("checks.5.name") == "uploads" && ready.value("checks.5.detail") == nil)
                let notes = try String(
                    contentsOfFile: "\(directory)/recordings/demo/\(Self.name).upload-main.json", encoding: .utf8)
                for text in [list.text, metrics, ready.text, notes, bench.log.text] {
                    #expect(!text.contains("S3CR3T"), "\(text)")
                }
                // The objects stay when a file is deleted, and nothing of it here.
                #expect(try await bench.call(.delete, "\(Self.list)/\(Self.name).mp4").status == 204)
                #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory)/recordings/demo").isEmpty)
            }
        }
    }

    /// Wrong settings of one storage delay nothing that goes to the other.
    @Test func failuresAreToldAndEndWithTheirCause() async throws {
        try await withDirectory { directory in
            let storage = S3Storage(directory)
            try await storage.start()
            let content = try Self.record(directory, bytes: 6 << 20)
            let wrong = Self.settings(
                storage,
                Self.backup.merging([
                    "upload.backup.endpoint": [storage.endpoint], "upload.backup.bucket": ["missing"],
                    "upload.secretKey": ["S3CR3T/another"],
                ]) { $1 })
            try await withOrchestrator(directory: directory, settings: wrong) { bench in
                try await Self.wait(bench, "recordings.0.storage.0.error.code", "signature")
                let list = try await Self.wait(bench, "recordings.0.storage.1.error.code", "bucket_missing")
                #expect(try list.value("recordings.0.storage.1.state") == "retrying" && !list.text.contains("S3CR3T"))
                #expect(try list.value("recordings.0.storage.0.url") == nil)
                let metrics = try await bench.call(.get, "/metrics").text
                #expect(metrics.contains(#"upload_failures_total{target="main",code="signature"}"#), "\(metrics)")
                let ready = try await bench.call(.get, "/readyz")
                #expect(ready.status == 200 && ready.text.contains("bucket_missing"), "\(ready.text)")
                #expect(!bench.log.text.contains("S3CR3T"))
            }
            storage.stop()
            let right = Self.settings(
                storage, Self.backup.merging(["upload.backup.endpoint": [storage.endpoint]]) { $1 })
            try await withOrchestrator(directory: directory, settings: right) { bench in
                try await Self.wait(bench, "recordings.0.storage.0.error.code", "unreachable")
                try await storage.start()
                // Whatever comes first to the storage meets them.
                try await storage.spoil("garbage", method: "POST", query: "uploads")
                try await storage.spoil("error", method: "PUT", query: "partNumber=1")
                try await storage.spoil("damaged", method: "PUT", query: "partNumber=2")
                try await storage.spoil("garbage", count: 2, method: "POST", query: "uploadId")
                try await storage.spoil("truncated", method: "POST", query: "uploadId")
                try await Self.wait(bench, "recordings.0.storage.0.state", "stored")
                let list = try await Self.wait(bench, "recordings.0.storage.1.state", "stored")
                for target in 0...1 {
                    let link = try #require(try list.value("recordings.0.storage.\(target).url"))
                    #expect(try await storage.fetch(link).body == content)
                }
                let metrics = try await bench.call(.get, "/metrics").text
                for code in ["corrupted", "server_error", "mismatch"] {
                    #expect(metrics.contains("code=\"\(code)\""), "\(code): \(metrics)")
                }
            }
        }
    }

    @Test func aKilledServiceGoesOnWithTheNextPartAndTheFileIsRemoved() async throws {
        try await withDirectory { directory in
            let storage = S3Storage(directory)
            try await storage.start()
            let content = try Self.record(directory, bytes: 17 << 20)
            let note = "\(directory)/recordings/demo/\(Self.name).upload-main.json"
            let first = try Self.serve(directory, storage, bytesPerSecond: 4 << 20)
            defer { first.signal(SIGKILL) }
            func parts() -> Int {
                let text = (try? String(contentsOfFile: note, encoding: .utf8)) ?? ""
                return text.components(separatedBy: "\"tag\"").count - 1
            }
            try await eventually("no part is stored") { parts() >= 1 ? true : nil }
            first.signal(SIGKILL)
            try await eventually { first.isRunning ? nil : true }
            let before = parts()
            #expect(1...3 ~= before)

            try await withOrchestrator(
                directory: directory, settings: Self.settings(storage, ["upload.local": ["remove"]])
            ) { bench in
                let list = try await eventually("the file is not removed") {
                    let answer = try await bench.call(.get, Self.list)
                    let isStored = try answer.value("recordings.0.storage.0.state") == "stored"
                    return try isStored && !answer.isTrue("recordings.0.local") ? answer : nil
                }
                #expect(try list.value("recordings.0.bytes") == "0", "what its manifest says")
                let link = try #require(try list.value("recordings.0.storage.0.url"))
                #expect(try await storage.fetch(link).body == content)
                let metrics = try await bench.call(.get, "/metrics").text
                let sent = metrics.firstMatch(of: /upload_sent_bytes_total\{target="main"\} (\d+)/).flatMap {
                    Int($0.1)
                }
                #expect(sent == content.count - before * 5 << 20, "no part is sent twice")

                let path = "\(Self.list)/\(Self.name).mp4"
                let gone = try await bench.call(.get, path)
                #expect(gone.status == 404 && gone.text.contains("recording-moved"), "\(gone.text)")
                #expect(try await bench.call(.delete, path).status == 204)
                #expect(try await bench.call(.get, Self.list).value("recordings.0.file") == nil)
                #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory)/recordings/demo").isEmpty)
            }
            let log = try String(contentsOfFile: "\(directory)/service.log", encoding: .utf8)
            #expect(!log.contains("S3CR3T"))
        }
    }

    /// Runs the program itself, with the secret in its environment.
    private static func serve(
        _ directory: String, _ storage: S3Storage, bytesPerSecond: Int
    ) throws -> LaunchedProcess {
        let file = "\(directory)/service.yaml"
        let text = """
            upload: { endpoint: "\(storage.endpoint)", bucket: mix, accessKey: \(S3Storage.accessKey), scanSeconds: 0.1,
              partBytes: 5242880, bytesPerSecond: \(bytesPerSecond) }
            log: { level: trace }
            """
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("mixorchestrator")
        var launch = ProcessLaunch(
            program.path,
            [
                "serve", "--config", file, "--listen", "127.0.0.1:\(Int.random(in: 20_000..<30_000))", "--data",
                directory,
                "--layouts", OpenAPIDocument.root.appendingPathComponent("layouts").path,
            ])
        launch.environment = ProcessInfo.processInfo.environment.merging([
            "MIXORCHESTRATOR_UPLOAD_SECRET_KEY": S3Storage.secretKey
        ]) { $1 }
        launch.output = .file("\(directory)/service.log", truncates: true)
        launch.errors = .output
        return try launch.start()
    }
}
