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
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(HookingMediaServer.anyPort())",
            "MIXORCHESTRATOR_PAGES_ENABLED": "true", "MIXORCHESTRATOR_PAGES_USER": "nobody",
            "MIXORCHESTRATOR_APPS_0_ID": "default", "MIXORCHESTRATOR_APPS_0_ACCESS_KEYS_0_ID": "testid",
            "MIXORCHESTRATOR_APPS_0_ACCESS_KEYS_0_SECRET": "testsecret-of-the-flow",
            "MIXORCHESTRATOR_HUNDREDMS_ENABLED": "true",
            "MIXORCHESTRATOR_HUNDREDMS_WEBHOOK_URL": "http://127.0.0.1:\(server.port)/webhooks",
        ]
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
            try await waitUntil("no browser is left") {
                !ProcessTable.entries().contains { entry in
                    entry.arguments.contains("page") && entry.arguments.contains { $0.hasPrefix(stage.directory.path) }
                }
            }
        }
    }
}
