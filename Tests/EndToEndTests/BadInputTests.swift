import Foundation
import Testing

@testable import LayoutEngine
@testable import ViewerProbe

@Suite(.serialized) struct BadInputTests {
    // Small, because publishers, a mix and the viewer share two cores.
    private static let canvas = Canvas(width: 360, height: 640, fps: 20)
    private static let alice = SyntheticPublisher(id: 1, width: 360, height: 640)
    private static let bob = SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 1)

    /// Each bad input is answered with one clear error, and the viewers of the program are not affected.
    @Test(.timeLimit(.minutes(15))) func badInputDoesNotDisturbTheProgram() async throws {
        try await Stage.run(canvas: Self.canvas) { stage in
            try await stage.publish("alice", Self.alice)
            try await stage.publish("bob", Self.bob)
            let h264 = ["-c:v", "libx264", "-preset", "ultrafast", "-g", "20"]
            let adpcm = try stage.publish("adpcm", codecs: h264 + ["-ar", "44100", "-c:a", "adpcm_swf"])
            let flv1 = try stage.publish("flv1", codecs: ["-c:v", "flv1", "-c:a", "aac"])
            try await stage.open(host: "alice")
            let viewer = try await stage.watch()
            try await viewer.receive(pictures: 40)
            try await post(badEvents, to: stage)
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await post(badEvents, to: stage)

            // A stream that does not exist yet gives another error.
            let stat = ServiceClient(port: stage.media.httpPort)
            try await waitUntil("both are published\n\(adpcm.messages())\n\(flv1.messages())") {
                let text = try await stat.request("GET", "/stat").text
                return text.contains("<name>adpcm</name>") && text.contains("<name>flv1</name>")
            }
            // The events are accepted, but their streams are never usable. Each is reported once, where an operator
            // looks, and other users are not affected.
            let silent = try OddServer(.silent)
            let garbage = try OddServer(.garbage)
            defer { for server in [silent, garbage] { server.stop() } }
            let guests = [
                ("eve", "rtmp://127.0.0.1:1/live/eve", "refused"),
                ("mallory", stage.media.live("nobody"), "is this stream being published?"),
                ("trudy", "rtmp://127.0.0.1:\(silent.port)/live/x", "timed out"),
                ("oscar", "rtmp://127.0.0.1:\(garbage.port)/live/x", "no media arrived"),
                ("peggy", "http://127.0.0.1:\(stage.media.httpPort)/nothing.flv", "Not Found"),
                ("sybil", stage.media.live("adpcm"), "audio codec ADPCM is not supported: publish AAC"),
                ("walter", stage.media.live("flv1"), "video codec Sorenson H.263 is not supported: publish H.264"),
            ]
            for (user, url, _) in guests { try await stage.client.published(stage.room, user: user, url: url) }
            var errors: [String: String] = [:]
            try await waitUntil("everything is told of: \(errors)") {
                errors = try await stage.client.streamErrors(stage.room)
                return guests.allSatisfy { user, _, error in errors[user]?.contains(error) ?? false }
            }
            #expect(errors.count == guests.count, "\(errors)")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            let timeline = try await stage.client.timeline(stage.room)
            for (user, _, error) in guests {
                let told = timeline.filter { $0.contains("\(user)/camera: ") }
                #expect(told.count == 1 && told[0].contains(error), "\(user): \(told)")
            }
            for (user, _, _) in guests { try await stage.leave(user) }
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await stage.leave("bob")
            try await stage.waitForOnAir("bypass")
            try await viewer.receive(pictures: 25)
            let lines = (stage.relayLog() ?? "").split(separator: "\n")
            #expect(lines.count < 400, "\(lines.joined(separator: "\n"))")
            let report = try await stage.judge(viewer, expectedSwitches: 2)
            #expect(report.isWithinLimits, "\(report.table)")
            for publisher in [adpcm, flv1] { await publisher.stop() }
        }
    }

    /// Without its encoder no mix is possible: the host stays on air alone, and each place reports the remedy once.
    @Test(.timeLimit(.minutes(12))) func aMissingElementIsNamedWithItsPackage() async throws {
        let plugins = try Workspace.makeDirectory()
        defer { try? FileManager.default.removeItem(at: plugins) }
        try Self.copyPlugins(to: plugins, without: "libgstx264.so")
        let environment = [
            "GST_PLUGIN_SYSTEM_PATH_1_0": plugins.path, "GST_REGISTRY_1_0": plugins.path + "/registry.bin",
        ]
        try await Stage.run(canvas: Self.canvas, environment: environment) { stage in
            let cure = "gstreamer1.0-plugins-ugly"
            try await waitUntil("the log names the package") {
                stage.service.messages(last: .max).contains(cure)
            }
            try await stage.publish("alice", Self.alice)
            try await stage.publish("bob", Self.bob)
            try await stage.open(host: "alice")
            let viewer = try await stage.watch()
            try await stage.join("bob")
            try await waitUntil("the task tells") {
                try await stage.client.task(stage.room)?.state.lastError?.contains(cure) ?? false
            }
            // This is long enough for several attempts.
            try await Task.sleep(for: .seconds(4))
            try await stage.waitForOnAir("bypass")
            let told = try await stage.client.timeline(stage.room).filter { $0.contains("mixer") }
            #expect(told.count == 1 && told[0].contains("x264enc"), "\(told)")
            let report = try await stage.judge(viewer, expectedSwitches: 0)
            #expect(report.isWithinLimits, "\(report.table)")
        }
    }

    /// Copies GStreamer's own plugin directory without one plugin.
    private static func copyPlugins(to directory: URL, without missing: String) throws {
        let files = FileManager.default
        let places = try files.contentsOfDirectory(atPath: "/usr/lib").map { "/usr/lib/\($0)/gstreamer-1.0" }
        let place = try #require(places.first { files.fileExists(atPath: "\($0)/\(missing)") }, "no \(missing)")
        for name in try files.contentsOfDirectory(atPath: place) where name.hasSuffix(".so") && name != missing {
            try files.createSymbolicLink(
                atPath: directory.appendingPathComponent(name).path, withDestinationPath: "\(place)/\(name)")
        }
    }

    /// A process that cannot start says so in one line that names the cause and the remedy, and exits.
    @Test(.timeLimit(.minutes(12))) func whatCannotStartSaysWhy() async throws {
        let directory = try Workspace.makeDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let other = try OddServer(.silent)
        defer { other.stop() }
        let configuration = directory.appendingPathComponent("wrong.yaml").path
        try "http:\n  lisen: x\n".write(toFile: configuration, atomically: true, encoding: .utf8)
        let damaged = directory.appendingPathComponent("damaged")
        try FileManager.default.createDirectory(at: damaged, withIntermediateDirectories: true)
        try String(repeating: "no database ", count: 500).write(
            to: damaged.appendingPathComponent("orchestrator.sqlite"), atomically: true, encoding: .utf8)
        let data = directory.appendingPathComponent("data").path
        let cases: [(arguments: [String], words: [String])] = [
            (["--listen", "127.0.0.1:\(other.port)", "--data", data], ["port \(other.port)", "in use", "--listen"]),
            (["--listen", "0.0.0.0:8080", "--data", data], ["http.listen", "0.0.0.0:8080", "127.0.0.1"]),
            (["--listen", "127.0.0.1:0", "--data", "/proc/none"], ["/proc/none", "No such file", "--data"]),
            (["--listen", "127.0.0.1:0", "--data", damaged.path], ["orchestrator.sqlite", "damaged"]),
            (["--config", configuration], ["wrong.yaml:2", "http.lisen", "http.listen"]),
            (["--config", "/none.yaml"], ["/none.yaml", "--config"]),
        ]
        for (index, (arguments, words)) in cases.enumerated() {
            let service = try ManagedProcess(
                "serve-\(index)", Workspace.executable("mixorchestrator"), ["serve"] + arguments, in: directory)
            try await waitUntil("serve \(arguments) ends") { !service.isRunning }
            let text = service.messages()
            let lines = text.split(separator: "\n").filter { $0.hasPrefix("mixorchestrator: ") }
            #expect(service.exitStatus == 1 && lines.count == 1, "\(arguments): \(text)")
            #expect(words.allSatisfy { text.contains($0) }, "\(arguments): \(text)")
        }
    }

    /// A service without a worker, and with an unreadable layout, serves what it can and reports the rest.
    @Test(.timeLimit(.minutes(12))) func whatIsBrokenBesideItIsTold() async throws {
        try await Stage.run(environment: ["MIXORCHESTRATOR_WORKER": "/none/mixworker"]) { stage in
            try stage.save(layout: #"{"arrangements": [{"algorithm": "grdi"}]}"#, as: "wrong")
            let output = stage.media.cdn(stage.room)
            let answer = try await stage.client.request(
                "PUT", "/v1/rooms/\(stage.room)",
                json: #"{"layout": "wrong", "outputs": [{"id": "cdn", "url": "\#(output)"}]}"#)
            #expect(answer.status == 422 && answer.text.contains("wrong"), "\(answer.text)")
            try await waitUntil("the layout's error is told") {
                stage.service.messages(last: .max)
                    .contains("wrong.json:1:33: $.arrangements[0].algorithm: found \"grdi\"")
            }
            try await stage.client.putRoom(
                stage.room, host: "alice", output: output, layout: "grid", canvas: stage.canvas)
            try await stage.client.published(stage.room, user: "alice", url: stage.media.live("alice"))
            try await waitUntil("the task tells") {
                try await stage.client.task(stage.room)?.state.lastError?.contains("/none/mixworker") ?? false
            }
            try await Task.sleep(for: .seconds(2))
            let told = try await stage.client.timeline(stage.room).filter { $0.contains("/none/mixworker") }
            #expect(told.count == 1, "\(told)")
            func lines() -> [Substring] {
                stage.service.messages(last: .max).split(separator: "\n").filter { $0.contains("/none/mixworker") }
            }
            try await waitUntil("the log tells: \(lines())") { lines().count >= 2 }
            #expect(lines().count == 2, "\(lines())")
        }
    }

    private struct Bad {
        var path: String
        var json: String
        var method = "POST"
    }

    private let badEvents = [
        Bad(path: "/v1/rooms/demo/events", json: "{"),
        Bad(path: "/v1/rooms/demo/events", json: "[]"),
        Bad(path: "/v1/rooms/demo/events", json: #"{"type": "stream.exploded", "user": "eve"}"#),
        Bad(path: "/v1/rooms/demo/events", json: #"{"type": "stream.published", "url": "rtmp://127.0.0.1/live/x"}"#),
        Bad(path: "/v1/rooms/demo/events", json: #"{"type": "stream.published", "user": "eve"}"#),
        Bad(
            path: "/v1/rooms/demo/events",
            json: #"{"type": "stream.published", "user": "eve", "url": "gopher://127.0.0.1/live/x"}"#),
        Bad(
            path: "/v1/rooms/demo/events",
            json: #"{"type": "stream.published", "user": "eve", "url": "webrtc://127.0.0.1/live/x"}"#),
        Bad(
            path: "/v1/rooms/demo/events",
            json: #"{"type": "stream.published", "user": "eve", "url": "rtmp://192.0.2.1/live/x"}"#),
        Bad(path: "/v1/events", json: #"{"specversion": "1.0"}"#),
        Bad(path: "/v1/rooms/demo", json: #"{"layout": "no-such-layout"}"#, method: "PUT"),
        Bad(path: "/v1/layouts/side-by-side", json: #"{"arrangements": [{"algorithm": "grdi"}]}"#, method: "PUT"),
        Bad(
            path: "/v1/rooms/demo", json: #"{"outputs": [{"id": "a", "url": "rtmp://192.0.2.1/live/x"}]}"#,
            method: "PUT"),
    ]

    private func post(_ inputs: [Bad], to stage: Stage) async throws {
        for bad in inputs {
            let answer = try await stage.client.request(bad.method, bad.path, json: bad.json)
            #expect((400..<500).contains(answer.status), "\(bad.json): \(answer.status) \(answer.text)")
            #expect(answer.contentType.hasPrefix("application/problem+json"), "\(bad.json): \(answer.contentType)")
            let problem = try JSONSerialization.jsonObject(with: answer.body) as? [String: Any]
            #expect(problem?["type"] is String && problem?["detail"] is String, "\(bad.json): \(answer.text)")
        }
    }
}
