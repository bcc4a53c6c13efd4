import ChildProcesses
import Foundation
import HTTPTypes
import Hummingbird
import TestSupport
import Testing

@testable import MixOrchestrator

/// Uploads of finished files to a storage that other software implements, with all kinds of faults.
@Suite(.serialized, .timeLimit(.minutes(10))) struct UploadFlowTests {
    static let name = "20260101T000000Z-a"
    static let list = "/v1/rooms/demo/recordings"

    static func settings(_ storage: S3Storage, _ changes: [String: [String]] = [:]) -> [String: [String]] {
        [
            "upload.endpoint": [storage.endpoint], "upload.bucket": ["mix"],
            "upload.accessKey": [S3Storage.accessKey], "upload.secretKey": [S3Storage.secretKey],
            "upload.scanSeconds": ["0.1"], "upload.retrySeconds": ["0.1"], "upload.partBytes": ["5242880"],
        ].merging(changes) { $1 }
    }

    static let backup: [String: [String]] = [
        "upload.backup.bucket": ["spare"], "upload.backup.prefix": ["copies of/{room}-{file}"],
        "upload.backup.accessKey": [S3Storage.accessKey], "upload.backup.secretKey": [S3Storage.secretKey],
    ]

    /// Writes a recording that was closed long ago.
    static func record(_ directory: String, bytes: Int = 1000, name: String = name) throws -> [UInt8] {
        let content = [UInt8]((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) })
        try KeptFiles.makeRecording(directory, name, content: Data(content))
        try age("\(directory)/recordings/demo/\(name).mp4")
        return content
    }

    static func age(_ path: String) throws {
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -60)], ofItemAtPath: path)
    }

    /// Returns the list of files once it has this value at a path.
    @discardableResult static func wait(
        _ bench: Bench, _ path: String, _ value: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Answer {
        try await eventually("\(path) is not \(value)", sourceLocation: sourceLocation) {
            let answer = try await bench.call(.get, Self.list)
            return try answer.value(path) == value ? answer : nil
        }
    }

    @Test func filesAreStoredComparedAndLinked() async throws {
        try await withDirectory { directory in
            let storage = try S3Storage(directory)
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

                // The counters follow a moment after the notes that the list shows.
                let metrics = try await eventually("not all is counted") {
                    let text = try await bench.call(.get, "/metrics").text
                    let isCounted =
                        text.contains(#"upload_files_total{target="main",result="stored"} 2"#)
                        && text.contains(#"upload_pending_files{target="backup",state="waiting"} 0"#)
                    return isCounted ? text : nil
                }
                let ready = try await bench.call(.get, "/readyz")
                #expect(try ready.value("checks.5.name") == "uploads" && ready.value("checks.5.detail") == nil)
                let notes = try String(
                    contentsOfFile: "\(directory)/recordings/demo/\(Self.name).upload-main.json", encoding: .utf8)
                for text in [list.text, metrics, ready.text, notes, bench.log.text] {
                    #expect(!text.contains("S3CR3T"), "\(text)")
                }
                // The deletion of a file leaves its objects in the storage, and nothing in the data directory.
                #expect(try await bench.call(.delete, "\(Self.list)/\(Self.name).mp4").status == 204)
                #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory)/recordings/demo").isEmpty)
            }
        }
    }

    /// Wrong settings of one storage do not delay uploads to the other.
    @Test func failuresAreToldAndEndWithTheirCause() async throws {
        try await withDirectory { directory in
            let storage = try S3Storage(directory)
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
                // An attempt is counted after its note, which the list shows.
                try await eventually("the failure is not counted") {
                    let metrics = try await bench.call(.get, "/metrics").text
                    return metrics.contains(#"upload_failures_total{target="main",code="signature"}"#) ? true : nil
                }
                let ready = try await eventually("the check does not name the failure") {
                    let ready = try await bench.call(.get, "/readyz")
                    return ready.text.contains("bucket_missing") ? ready : nil
                }
                #expect(ready.status == 200, "\(ready.text)")
                #expect(!bench.log.text.contains("S3CR3T"))
            }
            try await storage.stop()
            let right = Self.settings(
                storage, Self.backup.merging(["upload.backup.endpoint": [storage.endpoint]]) { $1 })
            try await withOrchestrator(directory: directory, settings: right) { bench in
                try await Self.wait(bench, "recordings.0.storage.0.error.code", "unreachable")
                try await storage.start(faults: [
                    .init(kind: "garbage", method: "POST", query: "uploads"),
                    .init(kind: "error", method: "PUT", query: "partNumber=1"),
                    .init(kind: "damaged", method: "PUT", query: "partNumber=2"),
                    .init(kind: "garbage", count: 2, method: "POST", query: "uploadId"),
                    .init(kind: "truncated", method: "POST", query: "uploadId"),
                ])
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
            let storage = try S3Storage(directory)
            try await storage.start()
            let content = try Self.record(directory, bytes: 17 << 20)
            let note = "\(directory)/recordings/demo/\(Self.name).upload-main.json"
            // The other three parts take six seconds, so that the service can be killed meanwhile.
            let reserved = try ReservedPort()
            let first = try Self.serve(directory, storage, port: reserved.number, bytesPerSecond: 2 << 20)
            defer { withExtendedLifetime(reserved) { first.signal(SIGKILL) } }
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

    /// Keys can be renewed while the service runs, as those of a role are.
    @Test func temporaryKeysAreUsedAndRenewed() async throws {
        try await withDirectory { directory in
            let storage = try S3Storage(directory)
            try await storage.start()
            let content = try Self.record(directory)
            @Sendable func renew(_ number: Int) async throws {
                try await storage.renew("ASIA\(number)", "S3CR3T-of-\(number)", token: "S3CR3T+token/\(number)=")
                try """
                [default]
                aws_access_key_id = ASIA\(number)
                aws_secret_access_key = S3CR3T-of-\(number)
                aws_session_token = S3CR3T+token/\(number)=
                """.write(toFile: directory + "/keys", atomically: true, encoding: .utf8)
            }
            try await renew(1)
            var settings = Self.settings(storage, ["upload.credentialsFile": [directory + "/keys"]])
            settings["upload.accessKey"] = nil
            settings["upload.secretKey"] = nil
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                let list = try await Self.wait(bench, "recordings.0.storage.0.state", "stored")
                let link = try #require(try list.value("recordings.0.storage.0.url"))
                #expect(link.contains("X-Amz-Security-Token="))
                #expect(try await storage.fetch(link).body == content)
                #expect(try await storage.fetch(link.replacing("token%2F1", with: "token%2F2")).status == 403)
                try await renew(2)
                #expect(try await storage.fetch(link).status == 403, "a link lasts as long as its keys")
                _ = try Self.record(directory, bytes: 6 << 20, name: "20260102T000000Z-b")
                try await Self.wait(bench, "recordings.0.file", "20260102T000000Z-b.mp4")
                let next = try await Self.wait(bench, "recordings.0.storage.0.state", "stored")
                let fresh = try #require(try next.value("recordings.1.storage.0.url"))
                #expect(try await storage.fetch(fresh).body == content)
                #expect(!bench.log.text.contains("S3CR3T"))
            }
        }
    }

    /// Uses a file of the real recorder, and the real process that decodes it.
    @Test func aRecordingHasItsPicture() async throws {
        try await withDirectory { directory in
            let storage = try S3Storage(directory)
            try await storage.start()
            let line = """
                {"room":"demo","task":"auto-demo","recording":{"settings":{"singleFilePerLayer":false,\
                "participants":false,"id":"a","startedAt":1767225600},"directory":"\(directory)/recordings/demo",\
                "keepFreeBytes":0}}
                """
            try Data((line + "\n").utf8).write(to: URL(filePath: "\(directory)/line"))
            _ = try await outputOfShell(
                """
                { cat '\(directory)/line'; ffmpeg -v error -f lavfi -i testsrc2=size=320x180:rate=25 -c:v libx264 \
                -preset ultrafast -g 25 -pix_fmt yuv420p -t 5 -f flv - ; } | '\(ScriptedWHIPWorker.mixworker)' recorder
                """)
            let settings = Self.settings(
                storage, ["upload.local": ["remove"], "worker": [ScriptedWHIPWorker.mixworker]])
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                let list = try await Self.wait(bench, "recordings.0.thumbnail.0.state", "stored")
                #expect(try list.value("recordings.0.thumbnail.0.key")?.hasSuffix(".jpg") == true, "\(list.text)")
                let link = try #require(try list.value("recordings.0.thumbnail.0.url"))
                let picture = try await storage.fetch(link).body
                #expect(picture.starts(with: [0xFF, 0xD8, 0xFF]) && picture.count > 2000)
                // Both files are removed, and neither is made again.
                try await eventually("files are left") {
                    let names = try FileManager.default.contentsOfDirectory(atPath: "\(directory)/recordings/demo")
                    return names.allSatisfy { $0.hasSuffix(".json") } ? true : nil
                }
                try await Self.wait(bench, "recordings.0.storage.0.state", "stored")
                try await Task.sleep(for: .milliseconds(300))
                let file = try #require(try list.value("recordings.0.file"))
                #expect(try await bench.call(.get, Self.list).value("recordings.0.thumbnail.0.state") == "stored")
                #expect(try await bench.call(.delete, "\(Self.list)/\(file)").status == 204)
                #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory)/recordings/demo").isEmpty)
            }
        }
    }

    /// Runs the program itself, with the secret in its environment.
    static func serve(
        _ directory: String, _ storage: S3Storage, port: Int, bytesPerSecond: Int
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
                "serve", "--config", file, "--listen", "127.0.0.1:\(port)", "--data",
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
