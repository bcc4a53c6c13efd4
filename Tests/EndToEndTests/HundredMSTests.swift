import ChildProcesses
import Foundation
import LayoutEngine
import TestSupport
import Testing

@testable import ViewerProbe

/// An app server of 100ms, with a page on loopback and an RTMP destination, starts a stream with a recording, and gets
/// pictures, webhooks and the file.
@Suite(.serialized, .timeLimit(.minutes(20)), .enabled(if: PagePrograms.missing.isEmpty)) struct HundredMSTests {
    /// The token was made by Python's hmac with the key below, and is valid until 2100.
    private static let token =
        "eyJhbGciOiJIUzI1NiJ9.eyJhY2Nlc3Nfa2V5IjoidGVzdGlkIiwidHlwZSI6Im1hbmFnZW1lbnQiLCJ2ZXJzaW9uI"
        + "joyLCJleHAiOjQxMDI0NDQ4MDB9.62FCIZ9SartxxolUbcXJeJMG6TunNmDtQybbWDNoIAs"

    private static let page = SyntheticPublisher(id: 3, width: 640, height: 480, fps: TestPage.rate)

    @Test func aPageIsStreamedAndRecorded() async throws {
        let server = try PageServer(["/meeting": TestPage.html(source: 3), "/webhooks": "thanks"])
        defer { server.stop() }
        let environment = Stage.pageSettings(adding: [
            "MIXORCHESTRATOR_APPS_0_ID": "default", "MIXORCHESTRATOR_APPS_0_ACCESS_KEYS_0_ID": "testid",
            "MIXORCHESTRATOR_APPS_0_ACCESS_KEYS_0_SECRET": "testsecret-of-the-flow",
            "MIXORCHESTRATOR_HUNDREDMS_ENABLED": "true",
            "MIXORCHESTRATOR_HUNDREDMS_WEBHOOK_URL": "http://127.0.0.1:\(server.port)/webhooks",
        ])
        try await Stage.run(environment: environment) { stage in
            func call(_ method: String, _ path: String, _ body: String? = nil) async throws -> [String: Any] {
                let answer = try await stage.client.request(
                    method, "/v2/\(path)", json: body, headers: ["Authorization": "Bearer \(Self.token)"])
                #expect(answer.status == 200, "\(path): \(answer.text)")
                return try JSONSerialization.jsonObject(with: answer.body) as? [String: Any] ?? [:]
            }
            let started = try await call(
                "POST", "external-streams/room/\(stage.room)/start",
                """
                {"meeting_url": "http://127.0.0.1:\(server.port)/meeting", "rtmp_urls": ["\(stage.media.cdn(stage.room))"],
                 "recording": true, "resolution": {"width": 640, "height": 480}}
                """)
            stage.knows(Self.page)
            let id = try #require(started["id"] as? String)
            #expect(started["status"] as? String == "starting")
            var last: [String: Any] = [:]
            try await waitUntil("the stream runs: \(last)") {
                last = try await call("GET", "external-streams/\(id)")
                return last["status"] as? String == "running"
            }
            let viewer = try await stage.watch()
            try await waitUntil("the viewer has some seconds: \(viewer.progress)") { viewer.progress.videoTags > 90 }
            let report = try await stage.judge(viewer)
            let pictures = report.sources.first { $0.id == 3 }?.pictures ?? 0
            // The viewer has recorded some seconds of a page on a busy machine, up to the last keyframe.
            #expect(pictures > 3 && report.decodeErrors.isEmpty, "the page arrives: \(report.table)")

            #expect(try await call("POST", "external-streams/\(id)/stop")["status"] as? String == "stopping")
            try await waitUntil("the stream is completed: \(last)") {
                last = try await call("GET", "external-streams/\(id)")
                return last["status"] as? String == "completed"
            }
            try await waitUntil("all webhooks have come: \(server.posted)") { server.posted.count >= 3 }
            let types = server.posted.compactMap { body in
                (try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])?["type"] as? String
            }
            #expect(types == ["beam.started.success", "beam.stopped.success", "beam.recording.success"])

            let assets = try await call("GET", "recording-assets?room_id=\(stage.room)")["data"] as? [[String: Any]]
            let asset = try #require(assets?.first?["id"] as? String)
            #expect(assets?.count == 1 && (assets?.first?["duration"] as? Int ?? 0) >= 2)
            let link = try await call("GET", "recording-assets/\(asset)/presigned-url")
            let url = try #require((link["url"] as? String).flatMap { URLComponents(string: $0) })
            let file = try await stage.client.request("GET", url.path + "?" + (url.percentEncodedQuery ?? ""))
            #expect(file.status == 200 && file.contentType == "video/mp4" && file.body.count > 20_000)
            #expect(file.body.dropFirst(4).starts(with: Data("ftyp".utf8)))
            try await stage.waitUntilPagesHaveEnded()
        }
    }

    // MARK: The client of the documentation

    /// Returns the first block of `docs/100ms.md` that begins with this text.
    private static func block(_ beginning: String) throws -> String {
        let file = Workspace.root.appendingPathComponent("docs/100ms.md")
        let parts = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "```")
        let blocks = stride(from: 1, to: parts.count, by: 2).map { parts[$0] }
        return try #require(blocks.first { $0.hasPrefix(beginning) })
    }

    /// Runs a command of the documentation.
    ///
    /// - Returns: Its exit status, and its output.
    private static func run(_ command: String, in directory: URL) async throws -> (status: Int32?, text: String) {
        let shell = try ManagedProcess(
            "hms-\(UInt32.random(in: 0 ... .max))", "/bin/bash",
            ["-e", "-c", "cd '\(directory.path)'\n" + command], in: directory)
        try await waitUntil("\(command) has run") { !shell.isRunning }
        return (shell.exitStatus, shell.messages(last: 10_000))
    }

    /// The commands of `docs/100ms.md`, with its client in Python, work as written, apart from ports and the size.
    @Test func theCommandsOfThePageStreamAPage() async throws {
        let server = try PageServer(["/": TestPage.html(source: 3)])
        defer { server.stop() }
        let environment = Stage.pageSettings(adding: [
            "MIXORCHESTRATOR_APPS_0_ID": "default", "MIXORCHESTRATOR_APPS_0_ACCESS_KEYS_0_ID": "my-access-key",
            "MIXORCHESTRATOR_APPS_0_ACCESS_KEYS_0_SECRET": "a-secret-of-32-characters-or-so",
            "MIXORCHESTRATOR_HUNDREDMS_ENABLED": "true",
        ])
        try await Stage.run(environment: environment) { stage in
            func adapted(_ text: String) -> String {
                text.replacing("127.0.0.1:8080", with: "127.0.0.1:\(stage.client.port)")
                    .replacing("127.0.0.1:8000", with: "127.0.0.1:\(server.port)")
                    .replacing("rtmp://127.0.0.1:1936/cdn/show", with: stage.media.cdn("show"))
                    .replacing(#""width": 1280, "height": 720"#, with: #""width": 854, "height": 480"#)
            }
            let client = adapted(try Self.block("python\n").replacing("python\n", with: "", maxReplacements: 1))
            for (name, text) in [
                ("hms.py", client), ("other.py", client.replacing("a-secret-of", with: "another-secret-of")),
            ] {
                try text.write(
                    to: stage.directory.appendingPathComponent(name), atomically: true, encoding: .utf8)
            }
            let commands = adapted(try Self.block("\npython3 hms.py")).components(separatedBy: "python3 hms.py ")
                .dropFirst().map { String($0) }
            try #require(commands.count == 5, "\(commands)")

            func call(_ command: String) async throws -> [String: Any] {
                let (status, text) = try await Self.run("python3 hms.py \(command)", in: stage.directory)
                guard status == 0 else { throw EndToEndError("\(command): \(text)") }
                return try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
            }
            func first(_ answer: [String: Any]) -> [String: Any]? { (answer["data"] as? [[String: Any]])?.first }

            let stranger = try await Self.run("python3 other.py \(commands[1])", in: stage.directory)
            #expect(stranger.status == 1 && stranger.text.contains("Token validation error"), "\(stranger.text)")
            #expect(try await call(commands[0])["status"] as? String == "starting")
            var last: [String: Any]?
            try await waitUntil("the stream runs: \(last ?? [:])", every: 500) {
                let answer = try await call(commands[1])
                last = first(answer)
                return last?["status"] as? String == "running"
            }
            let viewer = try await stage.record(stage.media.cdn("show"), as: "show")
            try await viewer.receive(pictures: 60)
            viewer.stop()
            _ = try await call(commands[2])
            try await waitUntil("the stream is completed: \(last ?? [:])", every: 500) {
                let answer = try await call(commands[1])
                last = first(answer)
                return last?["status"] as? String == "completed"
            }
            let assets = try await call(commands[3])
            let asset = try #require(first(assets)?["id"] as? String)
            let link = try await call(commands[4].replacing("ID", with: asset))
            let url = try #require((link["url"] as? String).flatMap { URLComponents(string: $0) })
            let file = try await stage.client.request("GET", url.path + "?" + (url.percentEncodedQuery ?? ""))
            #expect(file.status == 200 && file.contentType == "video/mp4")
            #expect(file.body.dropFirst(4).starts(with: Data("ftyp".utf8)))
        }
    }

    // MARK: 100ms' SDK for Node.js

    /// Directory into which npm installs the SDK, which is not part of this project.
    private static let sdk = Workspace.products.deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("node-sdk")
    static let hasSDK = FileManager.default.fileExists(
        atPath: sdk.appendingPathComponent("node_modules/@100mslive/server-sdk").path)

    /// The last line of `scripts/hms-sdk.cjs`.
    private struct Outcome: Decodable {
        var statuses: [String]
        var hasDates: Bool
        var isListed: Bool
        var assets: Int
        var link: String
        var missing: Int?
        var stranger: Int?
    }

    @Test(.enabled(if: HundredMSTests.hasSDK, "npm install --prefix .build/node-sdk @100mslive/server-sdk@0.3.0"))
    func theSDKStreamsARoom() async throws {
        let secret = "testsecret-of-the-flow"
        let environment = [
            "MIXORCHESTRATOR_APPS_0_ID": "default", "MIXORCHESTRATOR_APPS_0_ACCESS_KEYS_0_ID": "testid",
            "MIXORCHESTRATOR_APPS_0_ACCESS_KEYS_0_SECRET": secret, "MIXORCHESTRATOR_HUNDREDMS_ENABLED": "true",
        ]
        try await Stage.run(environment: environment) { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            let script = Workspace.root.appendingPathComponent("scripts/hms-sdk.cjs").path
            let process = try ManagedProcess(
                "hms-sdk", "node",
                [
                    script, Self.sdk.path, "127.0.0.1:\(stage.client.port)", "testid", stage.room,
                    stage.media.cdn("sdk"),
                ], in: stage.directory, environment: ["SECRET": secret])
            // It waits for two states of the stream.
            try await waitUntil("the SDK's calls have ended", within: 2 * patience) { !process.isRunning }
            guard process.exitStatus == 0,
                let line = process.messages().split(separator: "\n").last(where: { $0.hasPrefix("{") })
            else { throw EndToEndError("the SDK: \(process.messages())") }
            let outcome = try JSONDecoder().decode(Outcome.self, from: Data(line.utf8))
            #expect(outcome.statuses == ["starting", "running", "stopping", "completed"])
            #expect(outcome.hasDates && outcome.isListed && outcome.assets == 1, "\(line)")
            #expect(outcome.missing == 404 && outcome.stranger == 401, "\(line)")
            let url = try #require(URLComponents(string: outcome.link))
            let file = try await stage.client.request("GET", url.path + "?" + (url.percentEncodedQuery ?? ""))
            #expect(file.status == 200 && file.contentType == "video/mp4")
        }
    }
}
