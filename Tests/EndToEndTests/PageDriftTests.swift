import ChildProcesses
import Foundation
import LayoutEngine
import TestSupport
import Testing

@testable import ViewerProbe

/// Picture and sound of a page that is alone on air for ten minutes. The page, the display, the sound server and the
/// capture have clocks of their own.
@Suite(.serialized, .timeLimit(.minutes(40)), .enabled(if: TestLength.isLong && PagePrograms.missing.isEmpty))
struct PageDriftTests {
    /// The sizes for which the limits are stated. The page paints 30 times a second in each.
    private static let canvases = [
        Canvas(width: 720, height: 1280, fps: 20), Canvas(width: 1280, height: 720, fps: TestPage.rate),
    ]
    private static let seconds = 600

    @Test(arguments: canvases) func soundStaysWithThePicture(_ canvas: Canvas) async throws {
        let server = try PageServer(["/board": TestPage.html(source: 3)])
        defer { server.stop() }
        try await Stage.run(canvas: canvas, environment: Stage.pageSettings()) { stage in
            try await stage.open(page: "http://127.0.0.1:\(server.port)/board", as: "board")
            let viewer = try await stage.watch()
            let begin = Int(viewer.progress.timestamp)
            try await waitUntil(
                "ten minutes are recorded: \(viewer.progress)", within: Double(Self.seconds) * 1.5, every: 1000
            ) {
                Int(viewer.progress.timestamp) >= begin + Self.seconds * 1000
            }
            let task = try await stage.waitForOnAir("bypass")
            #expect(task.outputs.map(\.reconnects) == [0])
            viewer.stop()
            let board = SyntheticPublisher(id: 3, width: canvas.width, height: canvas.height, fps: TestPage.rate)
            try await Self.judge(await viewer.recording(), of: board)
        }
    }

    /// Judges the medians of minutes, and of the first and the last fifth: on a busy machine, single pictures are late.
    private static func judge(_ recording: FLVRecording, of board: SyntheticPublisher) async throws {
        let configuration = ProbeConfiguration(publishers: [board])
        let observation = try await Probe.judgement(recording, configuration).observation
        let offsets = SwitchAnalysis(observation, configuration).avOffsets(of: board)
        #expect(recording.connections == 1 && recording.publisherLosses == 0)
        // Each second has a beep.
        #expect(offsets.count * 10 >= seconds * 9, "\(offsets.count) beeps were heard")
        let first = try #require(offsets.first?.time, "no beep was heard")
        // Without what is left of the last minute.
        let minutes = Dictionary(grouping: offsets) { Int(($0.time - first) / 60_000) }.filter { $0.value.count >= 30 }
            .compactMapValues { beeps in beeps.map(\.offset).median }
        let fifth = max(1, offsets.count / 5)
        let start = try #require(offsets.prefix(fifth).map(\.offset).median)
        let end = try #require(offsets.suffix(fifth).map(\.offset).median)
        let words = minutes.sorted { $0.key < $1.key }.map { "\($0.value.rounded())" }.joined(separator: ", ")
        let (least, most) = (offsets.map(\.offset).min() ?? 0, offsets.map(\.offset).max() ?? 0)
        print(
            "\(board.width)×\(board.height): sound after picture in ms, by minutes: \(words); of single beeps "
                + "\(least.rounded()) to \(most.rounded()); end less beginning: \((end - start).rounded())")
        let close = offsets.count { abs($0.offset) <= 60 }
        #expect(close * 10 >= offsets.count * 9, "\(close) of \(offsets.count) beeps are within 60 ms of their flash")
        #expect(minutes.values.allSatisfy { abs($0) <= 60 }, "\(words)")
        #expect(abs(end - start) <= 20, "\(start) ms at the beginning, \(end) ms at the end")
    }
}
