import Foundation
import TestSupport
import Testing

@testable import GStreamerKit
@testable import LayoutEngine
@testable import ViewerProbe

/// A real program as HLS: fetched over HTTP as players do, checked against RFC 8216, decoded and judged.
@Suite(.serialized) struct HLSTests {
    @Test(.timeLimit(.minutes(20))) func aProgramThatSwitchesPlaysAsHLS() async throws {
        // Small, because two encoders, a mix and a rendition share two cores.
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20)) { stage in
            try await stage.publish(
                "alice", SyntheticPublisher(id: 1, width: 360, height: 640, bFrames: 2, gopSeconds: 1))
            try await stage.publish(
                "bob", SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 1, hasSound: false))
            try await stage.open(host: "alice")
            let body = #"{"segmentSeconds":2,"enableVOD":true,"metadata":"stage","renditions":[{"height":320}]}"#
            let asked = try await stage.client.request("PUT", "/v1/rooms/demo/hls", json: body)
            #expect(asked.status == 200, "\(asked.text)")
            // The service waits for the first segment too, but not for as long as a busy machine may take.
            var master = ""
            try await waitUntil("HLS has begun: \(master)") {
                let answer = try await stage.client.request("GET", "/live/demo/index.m3u8")
                master = answer.text
                return answer.status == 200
            }
            let top = try #require(uris(master).first)
            let base = "/live/demo/" + top.dropLast("video.m3u8".count)

            // The inspector reads the playlist like a player that polls often.
            let inspector = Box()
            let watching = Task {
                while !Task.isCancelled {
                    let answer = try? await stage.client.request("GET", "/live/demo/\(top)")
                    if let answer, answer.status == 200 { inspector.take(answer.text) }
                    try await Task.sleep(for: .milliseconds(300))
                }
            }
            try await Task.sleep(for: .seconds(3))
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await Task.sleep(for: .seconds(4))
            try await stage.leave("bob")
            try await stage.waitForOnAir("bypass")
            try await Task.sleep(for: .seconds(4))
            var hls: [String: Any] = [:]
            try await waitUntil("both variants are there: \(hls)") {
                let room = try await stage.client.request("GET", "/v1/rooms/demo")
                let shown = try JSONSerialization.jsonObject(with: room.body) as? [String: Any]
                hls = shown?["hls"] as? [String: Any] ?? [:]
                return hls["running"] as? Bool == true && (hls["variants"] as? [Any])?.count == 2
            }
            #expect(try await stage.client.request("DELETE", "/v1/rooms/demo/hls").status == 204)
            try await waitUntil("the playlist is closed") { inspector.isEnded }
            watching.cancel()
            _ = await watching.result
            #expect(inspector.complaints == [])
            // There are two splices, each to another configuration.
            #expect(inspector.discontinuities == 2)

            // The archive that was kept is unpacked elsewhere.
            let onDemand = try #require(hls["onDemand"] as? [String: String])
            // The session ends a moment after its playlists are closed.
            var packed: ServiceClient.Answer?
            try await waitUntil("the archive is there: \(packed.map { "\($0.status)" } ?? "")") {
                packed = try await stage.client.request("GET", onDemand["archive"] ?? "")
                return packed?.status == 200
            }
            let archive = try #require(packed)
            let folder = stage.directory.appendingPathComponent("vod")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let zip = folder.appendingPathComponent("all.zip")
            try archive.body.write(to: zip)
            try await run("python3", ["-m", "zipfile", "-e", zip.path, folder.path], in: stage.directory)
            // Every picture is there and can be decoded: a copy into FLV goes through the viewer's checks.
            let flv = stage.directory.appendingPathComponent("vod.flv").path
            try await run(
                "ffmpeg",
                [
                    "-v", "error", "-i", folder.appendingPathComponent("video-vod.m3u8").path, "-c", "copy", "-f",
                    "flv",
                    flv,
                ], in: stage.directory)
            let report = try await stage.judge(FLVRecording(existing: flv), expectedSwitches: 2)
            #expect(report.decodeErrors.isEmpty, "\(report.table)")
            for change in report.splices {
                #expect(change.contentStep.map { $0 == 1 } ?? true, "\(report.table)")
            }
            // The smaller rendition has segments at the same times.
            let times = try await [top, top.replacing("video.m3u8", with: "320p.m3u8")].asyncMap { uri in
                try await pictureTimes("http://127.0.0.1:\(stage.client.port)/live/demo/\(uri)", in: stage.directory)
            }
            let gaps = try await stage.client.request("GET", "\(base)320p.m3u8").text.contains("#EXT-X-GAP")
            if gaps { print("the machine was too slow for a rendition") } else { #expect(times[0] == times[1]) }
        }
    }

    private func uris(_ playlist: String) -> [String] {
        playlist.split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
    }

    private func run(_ program: String, _ arguments: [String], in directory: URL) async throws {
        let process = try ManagedProcess("hls-\(program)", program, arguments, in: directory)
        try await waitUntil("\(program) has ended", within: 120) { !process.isRunning }
        #expect(process.exitStatus == 0 && process.messages().isEmpty, "\(process.messages())")
    }

    private func pictureTimes(_ url: String, in directory: URL) async throws -> [String] {
        let file = directory.appendingPathComponent("times-\(UUID().uuidString)").path
        try await run(
            "sh",
            [
                "-c",
                "ffprobe -v error -select_streams v -show_entries packet=pts_time -of csv=p=0 '\(url)' > '\(file)'",
            ], in: directory)
        return try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
            .map { String($0.prefix { $0 != "," }) }.sorted()
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}

/// An inspector shared by two tasks.
private final class Box: @unchecked Sendable {
    private let lock = NSLock()
    private var inspector = PlaylistInspector()

    func take(_ text: String) { lock.withLock { inspector.take(text) } }
    var complaints: [String] { lock.withLock { inspector.complaints } }
    var isEnded: Bool { lock.withLock { inspector.newest?.isEnded ?? false } }
    var discontinuities: Int { lock.withLock { inspector.seen.values.count { $0.isDiscontinuity } } }
}
