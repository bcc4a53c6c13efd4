import Foundation
import StoreSupport
import TestSupport
import Testing

/// Recordings and HLS of a room whose node is lost go on at the next node, as new files that can be told from the
/// former ones.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)"))
struct ClusterFilesTests {
    private struct Recordings: Decodable {
        struct File: Decodable {
            var file: String
            var state: String?
            var duration: Double?
        }
        var recordings: [File]
    }

    private func recordings(_ node: ClusterStage.Node) async throws -> [Recordings.File] {
        let answer = try await node.client.request("GET", "/v1/rooms/demo/recordings")
        guard answer.status == 200 else { return [] }
        return try JSONDecoder().decode(Recordings.self, from: answer.body).recordings
    }

    /// Waits until the node records. Returns the file's name.
    private func recording(_ node: ClusterStage.Node) async throws -> String {
        var found: [Recordings.File] = []
        try await waitUntil("\(node.name) records: \(found)") {
            found = try await recordings(node).filter { $0.state == "recording" }
            return found.count == 1
        }
        return try #require(found.first).file
    }

    /// Waits until the node has the room's HLS, with a segment. Returns the path of the program's playlist.
    private func playlist(_ node: ClusterStage.Node, otherThan former: String? = nil) async throws -> String {
        var path = ""
        try await waitUntil("\(node.name) makes HLS: \(path)") {
            let master = try await node.client.request("GET", "/live/demo/index.m3u8")
            let first = master.text.split(separator: "\n").first { !$0.hasPrefix("#") }
            guard master.status == 200, let first else { return false }
            path = "/live/demo/\(first)"
            guard path != former else { return false }
            let media = try await node.client.request("GET", path)
            return media.status == 200 && media.text.contains("#EXTINF")
        }
        return path
    }

    @Test(.timeLimit(.minutes(12))) func filesGoOnAtTheNextNode() async throws {
        let receiver = try RTMPReceiver()
        defer { receiver.stop() }
        try await ClusterStage.run(lease: 60) { stage in
            let (a, b) = (stage.a, stage.b)
            try await a.client.putRoom(
                "demo", host: "alice", output: receiver.url("demo"), layout: "side-by-side", canvas: .portrait)
            #expect(try await a.client.request("PUT", "/v1/rooms/demo/recording", json: "{}").status == 200)
            let hls = try await a.client.request("PUT", "/v1/rooms/demo/hls", json: #"{"segmentSeconds":2}"#)
            #expect(hls.status == 200, "\(hls.text)")
            try await a.client.published("demo", user: "alice", url: stage.source, role: "host")
            let former = try await (file: recording(a), playlist: playlist(a))
            #expect(former.file.hasSuffix("-on-a.mp4"), "\(former.file)")
            // The file of a lost recorder plays up to its last second.
            let path = try #require(find(former.file, below: a.data))
            try await waitUntil("some of it is on the disk") { try await duration(of: path, in: stage) > 2 }

            a.destroy()
            try await stage.expel(a)
            let file = try await recording(b)
            // The same recording in another file.
            #expect(file.hasPrefix("\(former.file.dropLast("a.mp4".count))b"), "\(file)")
            let next = try await playlist(b, otherThan: former.playlist)
            let segment = try #require(
                try await b.client.request("GET", next).text.split(separator: "\n").first { !$0.hasPrefix("#") })
            let folder = next.dropLast(next.split(separator: "/").last?.count ?? 0)
            #expect(try await b.client.request("GET", "\(folder)\(segment)").status == 200)
            #expect(try await duration(of: path, in: stage) > 2)

            let sent = receiver.senders(of: "demo").last?.frames.count ?? 0
            try await waitUntil("more is recorded") {
                (receiver.senders(of: "demo").last?.frames.count ?? 0) > sent + 150
            }
            #expect(try await b.client.request("DELETE", "/v1/rooms/demo/recording").status == 204)
            try await waitUntil("the new file is complete") {
                try await recordings(b).first { $0.file == file }?.state == "complete"
            }
            let kept = try #require(try await recordings(b).first { $0.file == file })
            #expect(kept.duration ?? 0 > 1, "\(kept)")
        }
    }

    /// Returns the path of a file with this name.
    private func find(_ name: String, below directory: String) -> String? {
        FileManager.default.enumerator(atPath: directory)?.lazy.compactMap { $0 as? String }
            .first { $0.hasSuffix("/" + name) }.map { directory + "/" + $0 }
    }

    /// Returns the time of a file's last picture, in seconds.
    private func duration(of path: String, in stage: ClusterStage) async throws -> Double {
        let process = try ManagedProcess(
            "ffprobe-\(UInt32.random(in: 0 ... .max))", "ffprobe",
            ["-v", "quiet", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0", path],
            in: stage.directory)
        try await waitUntil("ffprobe has ended") { !process.isRunning }
        return process.messages(last: .max).split(separator: "\n")
            .compactMap { Double($0.split(separator: ",").first ?? "") }.max() ?? 0
    }
}
