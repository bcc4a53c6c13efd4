import EncodedMedia
import Foundation
import LayoutEngine
import TestSupport
import Testing

@testable import ViewerProbe

/// A mixer on air that is killed or stopped, as seen by a viewer at the destination.
@Suite(.serialized) struct MixerLossTests {
    enum Fault: String, CaseIterable, Sendable {
        case killed, stopped

        var signal: Int32 { self == .killed ? SIGKILL : SIGSTOP }

        /// The limit of docs/faults.md for the time without a new picture, in ms. A killed mixer costs at most one group
        /// of pictures and 250 ms of repeated picture, a stopped one 1.5 s.
        func limit(gopSeconds: Double) -> Double { self == .killed ? gopSeconds * 1000 + 250 : 1500 }

        /// Part of the reason in the timeline.
        var reason: String { self == .killed ? "signal 9" : "delivers no picture" }
    }

    private static let rounds = TestLength.of(short: 1, long: 3)
    private static let canvas = Canvas(width: 360, height: 640, fps: 20)
    private static let gopSeconds = 2.0

    /// Time in ms beyond the limit that a debug build has on a machine that also runs publishers, server and viewer.
    private static var margin: Double {
        #if DEBUG
            return 500
        #else
            return 0
        #endif
    }

    /// Returns the longest step between the arrivals of pictures around a fault, in ms.
    ///
    /// - Parameters:
    ///   - from: Time of the fault in ns of CLOCK_MONOTONIC.
    ///   - end: End of the time that is examined.
    private func longestStep(_ trace: ProgramTrace, after from: Int64, until end: Int64) throws -> Double {
        let arrivals = trace.video.compactMap(\.arrival).filter { from - 200_000_000...end ~= $0 }
        return try #require(zip(arrivals, arrivals.dropFirst()).map { Double($1 - $0) / 1e6 }.max())
    }

    @Test(.timeLimit(.minutes(8)), arguments: Fault.allCases)
    func viewersKeepTheirConnectionAndGetPicturesAgain(_ fault: Fault) async throws {
        try await Stage.run(canvas: Self.canvas) { stage in
            for (id, name) in [(1, "alice"), (2, "bob")] {
                try await stage.publish(
                    name,
                    SyntheticPublisher(
                        id: id, width: Self.canvas.width, height: Self.canvas.height, gopSeconds: Self.gopSeconds,
                        videoBitrate: 600_000))
            }
            try await stage.open(host: "alice")
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            let viewer = try await stage.watch()

            var faults: [Int64] = []
            var failed: Set<Int32> = []
            for round in 0..<Self.rounds {
                // A relay delays the start of a mixer if the one before has failed and this one has worked for less than
                // 30 s.
                try await viewer.receive(pictures: (round == 0 ? 4 : 32) * Self.canvas.fps)
                let mixer = try stage.mixer()
                faults.append(MonotonicClock.now())
                kill(mixer, fault.signal)
                failed.insert(mixer)
                try await waitUntil("another mixer has the program") {
                    (try? stage.mixer()).map { !failed.contains($0) } ?? false
                }
                try await stage.waitForOnAir("mix", users: ["alice", "bob"])
                try await viewer.receive(pictures: 4 * Self.canvas.fps)
            }
            let task = try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            #expect(task.outputs.map(\.reconnects) == [0])
            let timeline = try await stage.client.timeline(stage.room)
            #expect(timeline.contains { $0.contains(fault.reason) }, "\(timeline)")
            viewer.stop()

            let recording = await viewer.recording()
            let trace = try recording.trace()
            let report = try await stage.judge(recording)
            #expect(report.connections == 1 && report.publisherLosses == 0)
            #expect(report.backwardTimestamps == 0 && report.decodeErrors.isEmpty, "\(report.decodeErrors)")
            let limit = fault.limit(gopSeconds: Self.gopSeconds) + Self.margin
            for (index, at) in faults.enumerated() {
                let end = index + 1 < faults.count ? faults[index + 1] : Int64.max
                let freeze = try longestStep(trace, after: at, until: end)
                print("mixer \(fault.rawValue): \(freeze.tenths) ms without a new picture, limit \(limit.tenths) ms")
                #expect(freeze <= limit)
            }
            let longest = try #require(report.videoIntervalsMs.last)
            #expect(longest <= limit, "\(report.videoIntervalsMs) ms in the timestamps")
            let host = try #require(report.sources.first { $0.id == 1 })
            print(
                "mixer \(fault.rawValue) \(faults.count) times: \(host.lost) of the host's pictures lost, "
                    + "\(host.repeated) repeated, \(longest.tenths) ms in the timestamps, "
                    + "\(report.publisherLosses) reconnects")
            let most = Double(faults.count * Self.canvas.fps) * limit / 1000
            #expect(Double(host.lost + host.repeated) <= most, "\(host)")
            #expect(host.backward == 0 && host.torn == 0, "\(host)")
        }
    }
}
