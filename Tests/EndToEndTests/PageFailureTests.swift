import ChildProcesses
import EncodedMedia
import Foundation
import LayoutEngine
import TestSupport
import Testing

@testable import ViewerProbe

/// What viewers of a destination see when a page that is alone on air crashes or hangs.
@Suite(.serialized, .timeLimit(.minutes(8)), .enabled(if: PagePrograms.missing.isEmpty)) struct PageFailureTests {
    enum Failure: String, CaseIterable, Sendable {
        case crash, hang

        /// Seconds within which the card has to be there. On a machine with nothing else to do these are 0.5 and 2; tests
        /// have debug builds, and a mixer has to start first.
        var limit: Double { self == .crash ? 2 : 4 }
    }

    private static let canvas = Canvas(width: 640, height: 360, fps: TestPage.rate)
    private static let board = SyntheticPublisher(id: 3, width: 640, height: 360, fps: TestPage.rate)
    /// Number of pictures in a row without the page's mark that are no accident: single ones may have been captured while
    /// they were painted.
    private static let run = 5

    /// The page of the tests, which hangs once its server says so.
    private static let page = TestPage.html(source: 3).replacing(
        "</body>",
        with: """
            <script>setInterval(async () => {
              if (await (await fetch("/hang")).text() === "now") for (;;) {}
            }, 100);</script></body>
            """)

    @Test(arguments: Failure.allCases) func theCardComesOnTheSameConnection(_ failure: Failure) async throws {
        let server = try PageServer(["/board": Self.page])
        defer { server.stop() }
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(HookingMediaServer.anyPort())",
            "MIXORCHESTRATOR_PAGES_ENABLED": "true", "MIXORCHESTRATOR_PAGES_USER": "nobody",
        ]
        try await Stage.run(canvas: Self.canvas, environment: environment) { stage in
            try await Self.open(server, stage)
            let viewer = try await stage.watch()
            try await viewer.receive(pictures: 90)
            // It cannot be opened again for now: however slowly a mixer starts, its card is seen.
            server.set("/board", nil)
            let begin = try Self.cause(failure, server, stage)
            try await stage.waitForOnAir("mix")
            try await viewer.receive(pictures: 60)
            server.set("/hang", nil)
            server.set("/board", Self.page)
            try await stage.waitForOnAir("bypass")
            try await viewer.receive(pictures: 60)
            let task = try await stage.waitForOnAir("bypass")
            #expect(task.outputs.map(\.reconnects) == [0])
            viewer.stop()
            let recording = await viewer.recording()
            #expect(recording.connections == 1 && recording.publisherLosses == 0)
            try await Self.judge(recording, failure, since: begin)
        }
    }

    private static func open(_ server: PageServer, _ stage: Stage) async throws {
        try await stage.client.putRoom(
            stage.room, host: "board", output: stage.media.cdn(stage.room), layout: stage.layout, canvas: stage.canvas)
        // Its network is never idle.
        let answer = try await stage.client.request(
            "POST", "/v1/rooms/\(stage.room)/events",
            json: """
                {"type": "stream.published", "user": "board", "role": "host", "kind": "page", \
                "url": "http://127.0.0.1:\(server.port)/board?ready=1000", "ready": "window.isReady === true"}
                """)
        #expect(answer.status == 202, "\(answer.text)")
        try await stage.waitForOnAir("bypass")
    }

    /// - Returns: The time in ns of the failure, or a moment before it.
    private static func cause(_ failure: Failure, _ server: PageServer, _ stage: Stage) throws -> Int64 {
        switch failure {
        case .crash:
            let renderers = ProcessTable.descendants(of: stage.service.identifier).filter { process in
                process.arguments.contains { $0.contains("--type=renderer") }
            }
            #expect(!renderers.isEmpty)
            let begin = MonotonicClock.now()
            // One of them shows the page, others wait for one.
            for renderer in renderers { kill(renderer.identifier, SIGKILL) }
            return begin
        case .hang:
            let begin = MonotonicClock.now()
            server.set("/hang", "now")
            return begin
        }
    }

    private static func judge(_ recording: FLVRecording, _ failure: Failure, since begin: Int64) async throws {
        let pictures = try await Probe.judgement(recording, ProbeConfiguration(publishers: [board])).observation
            .pictures
        let seen = pictures.compactMap { picture in
            picture.arrival.map { (at: $0, isPage: picture.readings[board.id] != nil) }
        }
        let (before, after) = (seen.filter { $0.at < begin }, seen.filter { $0.at >= begin })
        // Otherwise pictures that are never readable would be taken for the card.
        let own = before.count { $0.isPage }
        #expect(before.count > 60 && own * 10 >= before.count * 9, "the page is in \(own) of \(before.count) pictures")
        let first = after.indices.first { index in
            index + run <= after.count && after[index..<index + run].allSatisfy { !$0.isPage }
        }
        let card = try #require(first, "the page was never off the air")
        let seconds = Double(after[card].at - begin) / 1e9
        let last = after[..<card].last { $0.isPage }.map { Double($0.at - begin) / 1e9 }
        print("\(failure.rawValue): last picture of the page after \(last ?? 0) s, card after \(seconds) s")
        #expect(seconds <= failure.limit, "the card came after \(seconds) s")
        #expect(after[card...].contains { $0.isPage }, "the page did not come back")
    }
}
