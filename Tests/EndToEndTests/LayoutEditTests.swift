import Foundation
import TestSupport
import Testing

@testable import LayoutEngine
@testable import ViewerProbe

/// An operator edits a layout's file while viewers watch, in each of the ways in which editors and scripts save files.
@Suite(.serialized) struct LayoutEditTests {
    private enum Manner: CaseIterable {
        /// A new file is renamed over the old one.
        case replace
        /// The same file is emptied and written again, in two pieces.
        case overwrite
        /// The old file becomes a backup, and a new one is created.
        case backup
        /// The file is deleted and created again.
        case recreate
    }

    /// Each of twenty saves normally reaches the viewer at once, and none costs a frame.
    @Test(.timeLimit(.minutes(15))) func twentyEditsOnAirAreSeenAtOnce() async throws {
        var random = SeededGenerator(announcedFor: "twenty edits")
        try await Stage.run(layout: "edited") { stage in
            let file = stage.layouts.appendingPathComponent("edited.json")
            try Self.layout(host: 50, guest: 40).write(to: file, atomically: true, encoding: .utf8)
            let (viewer, first) = try await stage.openWatchedMix()
            var panes = first
            let mixer = try stage.mixer()
            try await Task.sleep(for: .seconds(1))

            var saved: [Int64] = []
            for index in 0..<20 {
                if index % 5 == 2 { try await breakFile(file, stage, expecting: panes) }
                // No two edits are equal: each moves or resizes both panes.
                let text = Self.layout(host: 40 + index % 4 * 6, guest: 30 + index % 5 * 2)
                let manner = Manner.allCases[index % Manner.allCases.count]
                saved.append(try Self.save(text, to: file, manner))
                let before = panes
                try await waitUntil("edit \(index) (\(manner)) is on air", every: 10) {
                    panes = try await stage.waitForOnAir("mix", users: ["alice", "bob"]).panes
                    return panes != before
                }
                try await Task.sleep(for: .milliseconds(Int.random(in: 250...700, using: &random)))
            }

            #expect(try stage.mixer() == mixer, "the mixer was started again")
            try await stage.leave("bob")
            let task = try await stage.waitForOnAir("bypass")
            #expect(task.outputs.map(\.reconnects) == [0])
            try await viewer.receive(pictures: 25)
            let report = try await stage.judge(viewer, expectedSwitches: 2)
            #expect(report.isWithinLimits, "seed \(random.seed)\n\(report.table)")
            #expect(report.isWhole(), "\(report.sources)")
            let seen = report.switches.filter { $0.from == "mix 1+2" && $0.to == "mix 1+2" }.compactMap(\.arrival)
            try #require(seen.count == saved.count, "seed \(random.seed)\n\(report.table)")
            let waits = zip(saved, seen).map { Double($1 - $0) / 1e6 }
            print("save to viewer in ms: \(waits.map { $0.rounded() }.sorted())")
            // The delay is at most 200 ms on an idle machine. A service that polls for changes would take longer.
            #expect(waits.sorted()[waits.count / 2] <= 400, "seed \(random.seed): \(waits)")
            #expect(waits.allSatisfy { $0 <= 5000 }, "seed \(random.seed): \(waits)")
        }
    }

    /// Breaks the layout file, which changes nothing on air and is reported in the task's timeline.
    private func breakFile(
        _ file: URL, _ stage: Stage, expecting panes: Set<ServiceClient.TaskState.SceneState.Pane>
    ) async throws {
        let told = try await rejections(stage)
        try #"{"arrangements": [{"algoritm": "grid"}]}"#.write(to: file, atomically: true, encoding: .utf8)
        try await waitUntil("the broken file is told of", every: 10) { try await rejections(stage) > told }
        let now = try await stage.waitForOnAir("mix", users: ["alice", "bob"]).panes
        #expect(now == panes)
    }

    private func rejections(_ stage: Stage) async throws -> Int {
        try await stage.client.timeline(stage.room).count { $0.contains("edited") && $0.contains("algoritm") }
    }

    /// Returns two panes with the aspect ratio of the canvas: nothing is cropped, and the marks are readable.
    ///
    /// - Parameters:
    ///   - host: Percent of the canvas, at the upper left.
    ///   - guest: Percent of the canvas, at the lower right.
    private static func layout(host: Int, guest: Int) -> String {
        let (large, small) = (Double(host) / 100, Double(guest) / 100)
        return """
            {
              "arrangements": [
                {
                  "panes": [
                    { "role": "host", "x": 0, "y": 0, "width": \(large), "height": \(large) },
                    { "slot": 1, "x": \(1 - small), "y": \(1 - small), "width": \(small), "height": \(small) }
                  ]
                }
              ]
            }
            """
    }

    /// - Returns: The time at which the new content was there, in ns of CLOCK_MONOTONIC.
    private static func save(_ text: String, to file: URL, _ manner: Manner) throws -> Int64 {
        let files = FileManager.default
        switch manner {
        case .replace:
            try text.write(to: file, atomically: true, encoding: .utf8)
        case .overwrite:
            let handle = try FileHandle(forWritingTo: file)
            try handle.truncate(atOffset: 0)
            let bytes = Array(text.utf8)
            try handle.write(contentsOf: bytes.prefix(40))
            try handle.synchronize()
            try handle.write(contentsOf: bytes.dropFirst(40))
            try handle.close()
        case .backup:
            let backup = file.appendingPathExtension("bak")
            try? files.removeItem(at: backup)
            try files.moveItem(at: file, to: backup)
            try text.write(to: file, atomically: false, encoding: .utf8)
        case .recreate:
            try files.removeItem(at: file)
            try text.write(to: file, atomically: false, encoding: .utf8)
        }
        return monotonicNanoseconds()
    }

    private static func monotonicNanoseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
