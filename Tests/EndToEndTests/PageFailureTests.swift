import ChildProcesses
import EncodedMedia
import Foundation
import LayoutEngine
import TestSupport
import Testing

@testable import ViewerProbe

/// What viewers of a destination see when a page that is alone on air crashes, hangs or fills its memory, or loses its
/// browser or display.
@Suite(.serialized, .timeLimit(.minutes(8)), .enabled(if: PagePrograms.missing.isEmpty)) struct PageFailureTests {
    enum Failure: String, CaseIterable, Sendable {
        case crash, hang, memory, browser, display

        /// Seconds within which the card has to be there. On a machine with nothing else to do these are 0.5, and 2 for a
        /// hang; tests have debug builds, and a mixer has to start first. With its display, the worker ends.
        var limit: Double {
            switch self {
            case .crash, .browser: 2
            case .hang, .display: 4
            // The page does not answer while it fills its memory, which takes longer on a busy machine.
            case .memory: 6
            }
        }

        /// Words in the reason that the task's timeline gives, one of which has to be there.
        var words: [String] {
            switch self {
            case .crash: ["crashed"]
            case .hang: ["did not answer"]
            case .memory: ["crashed", "did not answer"]
            case .browser: ["browser"]
            // Whichever is noticed first.
            case .display: ["display", "worker"]
            }
        }
    }

    /// A picture that viewers received after `at`, in ns.
    private struct Seen {
        var at: Int64
        /// Whether it has the page's mark.
        var isPage: Bool
        /// Colours near the left and the right edge, where the page and the card have only their background.
        var edges: [ColourSample]
    }

    private static let canvas = Canvas(width: 640, height: 360, fps: TestPage.rate)
    private static let board = SyntheticPublisher(id: 3, width: 640, height: 360, fps: TestPage.rate)
    /// Number of pictures in a row without the page's mark that are no accident: single ones may have been captured while
    /// they were painted.
    private static let run = 5
    /// Largest difference between two colours that count as the same, after two encoders.
    private static let tolerance = 14.0
    /// Background of the page's card, whichever matrix the program has.
    private static let cards = ColourSample.Matrix.allCases.map {
        ColourSample(Card(name: "board", user: "board").colour, matrix: $0)
    }

    /// The card stays for as long as the page is away, however slow the machine is.
    private static let layout = #"{"fallback": {"dropAfter": 600}, "arrangements": [{"algorithm": "solo"}]}"#

    /// The page of the tests, which hangs or fills its memory once its server says so. It wants 1.6 GiB and stops
    /// there; the default of `memory.page` permits 1 GiB.
    private static let page = TestPage.html(source: 3).replacing(
        "</body>",
        with: """
            <script>setInterval(async () => {
              const text = await (await fetch("/fail")).text();
              if (text === "hang") for (;;) {}
              if (text !== "memory" || window.held) return;
              window.held = [];
              for (let i = 0; i < 400; i++) window.held.push(new Array(1 << 20).fill(i));
            }, 100);</script></body>
            """)

    @Test(arguments: Failure.allCases) func theCardComesOnTheSameConnection(_ failure: Failure) async throws {
        let server = try PageServer(["/board": Self.page])
        defer { server.stop() }
        // A worker whose display is killed publishes again only once the page is there again.
        let environment = Stage.pageSettings(adding: ["MIXORCHESTRATOR_INGEST_GRACE": "240"])
        try await Stage.run(canvas: Self.canvas, layout: "board", environment: environment) { stage in
            try stage.save(layout: Self.layout, as: "board")
            try await stage.waitForLayout("board")
            // The page's network is never idle.
            try await stage.open(
                page: "http://127.0.0.1:\(server.port)/board?ready=1000", as: "board", ready: "window.isReady === true")
            let viewer = try await stage.watch()
            try await viewer.receive(pictures: 90)
            // It cannot be opened again for now: however slowly a mixer starts, its card is seen.
            server.set("/board", nil)
            let begin = try Self.cause(failure, server, stage)
            try await stage.waitForOnAir("mix")
            try await viewer.receive(pictures: 60)
            server.set("/fail", nil)
            server.set("/board", Self.page)
            try await stage.waitForOnAir("bypass")
            try await viewer.receive(pictures: 60)
            let task = try await stage.waitForOnAir("bypass")
            #expect(task.outputs.map(\.reconnects) == [0])
            viewer.stop()
            let recording = await viewer.recording()
            #expect(recording.connections == 1 && recording.publisherLosses == 0 && stage.service.isRunning)
            let entries = try await stage.client.timeline(stage.room)
            let reasons = entries.filter { $0.hasPrefix("page board/camera fails: ") }
            #expect(reasons.contains { reason in failure.words.contains { reason.contains($0) } }, "\(entries)")
            try await Self.judge(recording, failure, since: begin)
        }
    }

    /// - Returns: The time in ns of the failure, or a moment before it.
    private static func cause(_ failure: Failure, _ server: PageServer, _ stage: Stage) throws -> Int64 {
        switch failure {
        // One of them shows the page, others wait for one.
        case .crash: return end(stage) { $0.contains("--type=renderer") }
        case .browser:
            return end(stage) { $0.contains("--remote-debugging-pipe") && !$0.contains("--type=") }
        case .display: return end(stage) { $0.hasPrefix("Xvfb ") }
        case .hang, .memory:
            let begin = MonotonicClock.now()
            server.set("/fail", failure.rawValue)
            return begin
        }
    }

    /// Kills the processes of the stage whose command lines fit.
    ///
    /// - Returns: The time in ns just before.
    private static func end(_ stage: Stage, _ fits: (String) -> Bool) -> Int64 {
        let processes = ProcessTable.descendants(of: stage.service.identifier).filter { process in
            fits(process.arguments.joined(separator: " "))
        }
        #expect(!processes.isEmpty)
        let begin = MonotonicClock.now()
        for process in processes { kill(process.identifier, SIGKILL) }
        return begin
    }

    private static func judge(_ recording: FLVRecording, _ failure: Failure, since begin: Int64) async throws {
        let pictures = try await Probe.judgement(recording, ProbeConfiguration(publishers: [board])).observation
            .pictures
        let edges = try edges(of: recording)
        let seen = pictures.compactMap { picture in
            picture.arrival.map {
                Seen(at: $0, isPage: picture.readings[board.id] != nil, edges: edges[picture.time] ?? [])
            }
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
        try judgeColours(of: after, page: try #require(ColourSample.median(before.flatMap(\.edges))), since: begin)
    }

    /// Expects only pictures of the page and of its card: the browser's own messages, and an empty display, have other
    /// colours.
    ///
    /// - Parameter page: The page's background, as viewers received it before the failure.
    private static func judgeColours(of pictures: [Seen], page: ColourSample, since begin: Int64) throws {
        let end = try #require(pictures.lastIndex { isPlain($0, cards) }, "the card has not its colour")
        let others = pictures[...end].filter { !isPlain($0, cards) && !isPlain($0, [page]) }
        let words = others.prefix(5).map { "after \(Double($0.at - begin) / 1e9) s: \($0.edges)" }
        #expect(others.isEmpty, "\(others.count) pictures are neither the page nor its card: \(words)")
        // The browser may show the page on a busy machine before it has painted the first picture.
        let (back, own) = (pictures[(end + 1)...], pictures[(end + 1)...].count { isPlain($0, [page]) })
        #expect(!back.isEmpty && own * 10 >= back.count * 9, "the page is in \(own) of \(back.count) pictures")
    }

    /// Returns whether both edges of a picture have one of these colours.
    private static func isPlain(_ picture: Seen, _ colours: [ColourSample]) -> Bool {
        picture.edges.count == 2
            && colours.contains { colour in
                picture.edges.allSatisfy { edge in
                    [edge.luma - colour.luma, edge.blue - colour.blue, edge.red - colour.red].allSatisfy {
                        abs($0) <= tolerance
                    }
                }
            }
    }

    /// Returns the colours near the edges of all pictures, by their times in ms.
    private static func edges(of recording: FLVRecording) throws -> [Int64: [ColourSample]] {
        var found: [Int64: [ColourSample]] = [:]
        _ = try PictureDecoder.decode(recording.path) { time, picture in
            let (width, height) = (Double(picture.width), Double(picture.height))
            found[time] = [0.02, 0.92].compactMap { x in
                picture.meanColour(x: width * x, y: height * 0.1, width: width * 0.06, height: height * 0.2)
            }
        }
        return found
    }
}
