import Foundation
import Testing

@testable import LayoutEngine
@testable import ViewerProbe

/// A mix of H.265 between two copies of H.264, judged by the usual limits and by a late viewer with another player.
@Suite(.serialized) struct H265Tests {
    /// The report of a player that joined late; see scripts/play.py.
    private struct Played: Decodable {
        var codec: String
        var profile: String?
        var width: Int
        var height: Int
        var pictures: Int
        var errors: Int
        var gapMs: Int
        var messages: [String]
    }

    private func run(_ program: String, _ arguments: [String], _ stage: Stage) async throws -> String {
        let name = "\(URL(fileURLWithPath: program).lastPathComponent)-\(UInt32.random(in: 0...UInt32.max))"
        let process = try ManagedProcess(name, program, arguments, in: stage.directory)
        // This is long enough for an installation.
        try await waitUntil("\(program) has ended: \(process.messages())", within: 400) { !process.isRunning }
        guard process.exitStatus == 0 else { throw EndToEndError("\(program): \(process.messages())") }
        return process.messages()
    }

    private func player(_ arguments: [String], _ stage: Stage) async throws -> String {
        let script = Workspace.root.appendingPathComponent("scripts/play.sh").path
        let build = Workspace.products.deletingLastPathComponent().deletingLastPathComponent()
        return try await run("env", ["BUILD_DIR=\(build.path)", script] + arguments, stage)
    }

    private func play(_ url: String, _ stage: Stage) async throws -> Played {
        let line = try #require(try await player([url, "2"], stage).split(separator: "\n").last)
        return try JSONDecoder().decode(Played.self, from: Data(line.utf8))
    }

    /// Returns `codec,width,height` of the pictures, and decodes four seconds of them.
    private func inspect(_ url: String, _ stage: Stage) async throws -> String {
        let decoded = try await run(
            "ffmpeg", ["-nostdin", "-v", "error", "-xerror", "-t", "4", "-i", url, "-f", "null", "-"], stage)
        #expect(decoded.isEmpty, "\(url): \(decoded)")
        let shown = ["-v", "error", "-select_streams", "v:0", "-show_entries", "stream=codec_name,width,height"]
        return try await run("ffprobe", shown + ["-of", "csv=p=0", url], stage)
            .split(separator: "\n").first.map(String.init) ?? ""
    }

    @Test(.timeLimit(.minutes(20))) func everyWayOutCarriesIt() async throws {
        // Small, because an encoder of H.265, one of H.264 and the players share two cores.
        let canvas = Canvas(width: 360, height: 640, fps: 20)
        try await Stage.run(canvas: canvas) { stage in
            // The player is installed before the mix runs, which shares two processors with everything else here:
            // otherwise pictures would be late.
            _ = try await player(["--install"], stage)
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1))
            try await stage.publish("bob", SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            let settings = #"""
                {"program": {"encoding": {"videoCodec": "h265", "gopFrames": 20},
                    "sei": {"passThrough": {"content": "round 3", "intervalMs": 1000}}}}
                """#
            let asked = try await stage.client.request(
                "PATCH", "/v1/tasks/auto-\(stage.room)", json: settings, headers: ["If-Match": "*"])
            #expect(asked.status == 200 && asked.text.contains("h265"), "\(asked.text)")
            let viewer = try await stage.watch()
            for (path, body) in [
                ("hls", #"{"segmentSeconds":2,"windowSeconds":12,"renditions":[{"height":320}]}"#), ("recording", "{}"),
            ] {
                let answer = try await stage.client.request("PUT", "/v1/rooms/\(stage.room)/\(path)", json: body)
                #expect(answer.status == 200, "\(answer.text)")
            }
            try await viewer.receive(pictures: 40)
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])

            // The program is played from our own server, and from one that does not know the codec and has seen no
            // other in this program.
            let second = #"{"id":"plain","url":"\#(stage.media.plain(stage.room))"}"#
            let added = try await stage.client.request("POST", "/v1/tasks/auto-\(stage.room)/outputs", json: second)
            #expect(added.status == 201, "\(added.text)")
            let flv = "http://127.0.0.1:\(stage.client.port)/live/\(stage.room).flv"
            for url in [flv, stage.media.plain(stage.room)] {
                let played = try await play(url, stage)
                print("\(url): \(played)")
                #expect(played.codec == "hevc" && played.profile == "Main")
                #expect(played.width == stage.canvas.width && played.height == stage.canvas.height)
                // The limit is two seconds of pictures, except for some that a busy machine drops.
                #expect(played.pictures >= 30 && played.errors == 0 && played.gapMs <= 202, "\(played)")
                #expect(played.messages.contains { $0.contains("round 3") }, "\(played.messages)")
            }
            let base = "http://127.0.0.1:\(stage.client.port)/live/\(stage.room)"
            var master = ""
            try await waitUntil("both codecs are in the playlist: \(master)") {
                master = try await stage.client.request("GET", "/live/\(stage.room)/index.m3u8").text
                return master.contains("hvc1.1.")
            }
            let variants = master.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { "\(base)/\($0)" }
            // After a while the window contains only H.265, and the smaller rendition is H.264 throughout.
            try await waitUntil("the mix fills the window") {
                let text = try await stage.client.request("GET", "/live/\(stage.room)/index.m3u8").text
                return text.contains("hvc1.") && text.components(separatedBy: "avc1.").count == 2
            }
            var shown: [String] = []
            for variant in variants { shown.append(try await inspect(variant, stage)) }
            let canvas = stage.canvas
            #expect(shown == ["hevc,\(canvas.width),\(canvas.height)", "h264,180,320"], "\(master)")

            try await stage.leave("bob")
            try await stage.waitForOnAir("bypass")
            try await viewer.receive(pictures: 40)
            let stopped = try await stage.client.request("DELETE", "/v1/rooms/\(stage.room)/recording")
            #expect(stopped.status == 204)
            try await waitUntil("three files are closed") {
                let list = try await stage.client.request("GET", "/v1/rooms/\(stage.room)/recordings").text
                return list.components(separatedBy: #""complete""#).count == 4
            }
            let recordings = stage.directory.appendingPathComponent("data/recordings")
            let files = try FileManager.default.subpathsOfDirectory(atPath: recordings.path)
                .filter { $0.hasSuffix(".mp4") }.sorted()
            var codecs: [String] = []
            for file in files { codecs.append(try await inspect(recordings.appendingPathComponent(file).path, stage)) }
            let size = "\(canvas.width),\(canvas.height)"
            // The second and third names have a number before the first dot.
            #expect(codecs == ["hevc,\(size)", "h264,\(size)", "h264,\(size)"], "\(files)")

            let report = try await stage.judge(viewer, expectedSwitches: 2)
            #expect(report.isWithinLimits, "\(report.table)")
            #expect(report.connections == 1 && report.isWhole(), "\(report.sources)")
        }
    }
}
