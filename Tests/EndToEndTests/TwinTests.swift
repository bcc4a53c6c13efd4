import Foundation
import LayoutEngine
import TestSupport
import Testing

@testable import ViewerProbe

/// A room whose mix has a twin, as seen by a viewer.
@Suite(.serialized) struct TwinTests {
    /// Returns the time at which a process began, in 1/100 s since the start of the system (proc(5)); `.max` if it has
    /// ended. It identifies processes, since the system reuses their numbers.
    private static func start(of process: Int32) -> Int {
        let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        return fields.count > 19 ? Int(fields[19]) ?? .max : .max
    }

    /// Each kill costs at most one picture, and on a busy machine two. Without a twin, each would cost a second.
    @Test(.timeLimit(.minutes(6))) func killedMixersCostAtMostOnePictureEach() async throws {
        let kills = TestLength.of(short: 2, long: 4)
        // The canvas is small because two mixers of a debug build render it at once.
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20)) { stage in
            for (id, name) in [(1, "alice"), (2, "bob")] {
                try await stage.publish(
                    name, SyntheticPublisher(id: id, width: 360, height: 640, gopSeconds: 1, videoBitrate: 600_000))
            }
            try await stage.open(host: "alice")
            let answer = try await stage.client.request(
                "PUT", "/v1/rooms/\(stage.room)",
                json: """
                    {"host": "alice", "layout": "side-by-side", "policy": {"redundancy": "twin"},
                     "outputs": [{"id": "cdn", "url": "\(stage.media.cdn(stage.room))"}],
                     "canvas": {"width": \(stage.canvas.width), "height": \(stage.canvas.height),
                                "fps": \(stage.canvas.fps)}}
                    """)
            #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            var killed: Set<Int32> = []
            let viewer = try await stage.watch()
            for _ in 0..<kills {
                // The older mixer is on air, and its twin is started beside it.
                var pair: [Int32] = []
                try await waitUntil("a twin is ready") {
                    pair = stage.workers.filter { $0.arguments.contains("mixer") && !killed.contains($0.identifier) }
                        .map(\.identifier).sorted { Self.start(of: $0) < Self.start(of: $1) }
                    guard pair.count == 2 else { return false }
                    return try await stage.twin() == "ready"
                }
                try await Task.sleep(for: .seconds(1))
                kill(pair[0], SIGKILL)
                killed.insert(pair[0])
                try await Task.sleep(for: .seconds(2))
            }
            let report = try await stage.judge(viewer)
            #expect(report.connections == 1 && report.publisherLosses == 0)
            #expect(report.backwardTimestamps == 0 && report.decodeErrors.isEmpty, "\(report.decodeErrors)")
            #expect(Set(report.sources.map(\.id)) == [1, 2])
            for source in report.sources {
                // Without a twin, each kill would cost 20 pictures.
                #expect(source.lost + source.repeated <= 2 * kills + 1, "\(source)")
                #expect(source.backward == 0 && source.torn == 0, "\(source)")
            }
            let longest = try #require(report.videoIntervalsMs.last)
            let usual = report.videoIntervalsMs[1]
            #expect(longest <= 3 * usual, "\(report.videoIntervalsMs)")
            let task = try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            #expect(task.outputs.map(\.reconnects) == [0])
            try await waitUntil("each is told of") {
                try await stage.client.timeline(stage.room).count { $0.contains("Its twin has taken over") } == kills
            }
        }
    }
}

extension Stage {
    /// Returns the state of the twin of the room's mixer.
    fileprivate func twin() async throws -> String? {
        struct Twin: Decodable { var twin: String? }
        return try await client.task(room).map { try JSONDecoder().decode(Twin.self, from: $0.json).twin } ?? nil
    }
}
