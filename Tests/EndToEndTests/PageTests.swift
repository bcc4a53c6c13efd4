import ChildProcesses
import Foundation
import LayoutEngine
import TestSupport
import Testing

@testable import ViewerProbe

/// A page as a participant: alone it is on air as it is encoded, beside another one in a mix.
@Suite(.serialized, .timeLimit(.minutes(4)), .enabled(if: PagePrograms.missing.isEmpty)) struct PageTests {
    private static let canvas = Canvas(width: 640, height: 360, fps: TestPage.rate)
    private static let board = SyntheticPublisher(id: 3, width: 640, height: 360, fps: TestPage.rate)
    private static let guest = SyntheticPublisher(
        id: 2, width: 640, height: 360, fps: TestPage.rate, videoBitrate: 800_000)

    @Test func aPageIsBypassedAndMixed() async throws {
        let server = try PageServer(["/board": TestPage.html(source: 3)])
        defer { server.stop() }
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(HookingMediaServer.anyPort())",
            "MIXORCHESTRATOR_PAGES_ENABLED": "true", "MIXORCHESTRATOR_PAGES_USER": "nobody",
        ]
        try await Stage.run(canvas: Self.canvas, environment: environment) { stage in
            try await stage.client.putRoom(
                stage.room, host: "board", output: stage.media.cdn(stage.room), layout: stage.layout,
                canvas: stage.canvas)
            let answer = try await stage.client.request(
                "POST", "/v1/rooms/\(stage.room)/events",
                json: """
                    {"type": "stream.published", "user": "board", "role": "host", "kind": "page", \
                    "url": "http://127.0.0.1:\(server.port)/board"}
                    """)
            #expect(answer.status == 202, "\(answer.text)")
            stage.knows(Self.board)
            try await stage.waitForOnAir("bypass", within: 60)
            let viewer = try await stage.record(
                "http://127.0.0.1:\(stage.client.port)/live/\(stage.room).flv", as: "viewer")
            try await Task.sleep(for: .seconds(3))
            try await stage.publish("bob", Self.guest)
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["board", "bob"], within: 20)
            try await Task.sleep(for: .seconds(3))
            try await stage.leave("bob")
            try await stage.waitForOnAir("bypass", within: 20)
            try await Task.sleep(for: .seconds(2))
            let report = try await stage.judge(viewer, expectedSwitches: 2, limits: Self.limits)
            #expect(report.isWithinLimits, "\(report.table)")
            let offsets = report.splices.flatMap { [$0.avBeforeMs, $0.avAfterMs] }.compactMap(\.self)
            print("A/V in ms: \(offsets)")
            #expect(offsets.allSatisfy { abs($0) <= 60 }, "\(offsets)")
            try await stage.client.unpublished(stage.room, user: "board")
            try await waitUntil("no browser is left", within: 10) {
                !ProcessTable.entries().contains { entry in
                    entry.arguments.contains("page") && entry.arguments.contains { $0.hasPrefix(stage.directory.path) }
                }
            }
        }
    }

    /// A page paints by a clock of its own, and its pictures are taken by another: some are taken twice or not at all.
    private static var limits: ProbeLimits {
        var limits = ProbeLimits()
        limits.videoGapMs = 40
        limits.avShiftMs = 40
        limits.audioGapMs = 2
        limits.contentFaults = .max
        limits.frozenMs = 250
        limits.unreadable = 3
        return limits
    }
}
