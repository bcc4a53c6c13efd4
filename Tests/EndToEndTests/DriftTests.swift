import LayoutEngine
import TestSupport
import Testing

@testable import ViewerProbe

/// A publisher whose clock is off, as seen by a viewer for ten minutes. Runs only with `MIX_LONG=1`.
@Suite(.serialized, .enabled(if: TestLength.isLong)) struct DriftTests {
    private static let canvas = Canvas(width: 360, height: 640, fps: 20)
    /// Pictures over which a delay is averaged: ten seconds.
    private static let window = 200
    /// Windows that are watched of the bypass, and as many of the mix: five minutes each.
    private static let windows = 30
    /// Largest change of a delay, in ms.
    private static let latency = 100.0
    /// Largest distance of sound from pictures, in ms.
    private static let lips = 40.0

    /// The delays in a window of pictures, in ms up to a constant: medians.
    private struct Delays {
        var isMixed: Bool
        /// From the recording of a picture to its time in the program. A player that keeps its distance from the
        /// program shows the picture that much later.
        var shown: Double
        /// From a picture's time in the program to its arrival. A player whose distance is less has to wait.
        var arrived: Double
    }

    /// A source that is copied, and then mixed, for five minutes each: 0.6 s each without a correction.
    @Test(.timeLimit(.minutes(40)), arguments: [1.002, 0.998])
    func aClockThatIsOffBuildsNoLatency(rate: Double) async throws {
        try await Stage.run(canvas: Self.canvas) { stage in
            let alice = SyntheticPublisher(id: 1, width: 360, height: 640, videoBitrate: 600_000, clockRate: rate)
            let bob = SyntheticPublisher(
                id: 2, width: 360, height: 640, gopSeconds: 1, hasSound: false, videoBitrate: 600_000)
            try await stage.publish("alice", alice)
            try await stage.publish("bob", bob)
            try await stage.open(host: "alice")
            let viewer = try await stage.watch()
            for _ in 0..<Self.windows { try await viewer.receive(pictures: Self.window) }
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            for _ in 0..<Self.windows { try await viewer.receive(pictures: Self.window) }
            let task = try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            #expect(task.outputs.map(\.reconnects) == [0])

            let judgement = try await stage.judgement(viewer)
            let report = judgement.report
            #expect(report.connections == 1 && report.publisherLosses == 0)
            #expect(report.backwardTimestamps == 0 && report.decodeErrors.isEmpty, "\(report.decodeErrors)")
            let delays = Self.delays(of: alice, in: judgement.observation.pictures)
            let first = try #require(delays.first)
            for isMixed in [false, true] {
                let own = delays.filter { $0.isMixed == isMixed }
                // Those that contain the change are left out.
                try #require(own.count >= Self.windows - 3)
                let shown = own.map { $0.shown - first.shown }
                // A mix takes its time to make a picture; it may not take more and more.
                let arrived = own.map { $0.arrived - own[0].arrived }
                print("\(isMixed ? "mix" : "bypass"), clock \(rate): ms later in the program \(shown.map(\.tenths))")
                print("\(isMixed ? "mix" : "bypass"), clock \(rate): ms later than its time \(arrived.map(\.tenths))")
                #expect(shown.allSatisfy { abs($0) <= Self.latency })
                #expect(arrived.allSatisfy { abs($0) <= Self.latency })
            }
            let offsets = SwitchAnalysis(judgement.observation, judgement.configuration).avOffsets(of: alice)
                .map { $0.offset }
            print("clock \(rate): A/V of \(offsets.count) beeps, ms: \(offsets.min() ?? 0) to \(offsets.max() ?? 0)")
            #expect(offsets.count > 2 * Self.windows * 8)
            #expect(offsets.allSatisfy { abs($0) <= Self.lips }, "\(offsets.map(\.tenths))")
        }
    }

    /// Returns the delays of windows that are wholly bypass or mix, in their order.
    private static func delays(of publisher: SyntheticPublisher, in pictures: [PictureObservation]) -> [Delays] {
        let interval = 1000 / (Double(publisher.fps) * publisher.clockRate)
        let seen = pictures.compactMap { picture -> Delays? in
            guard let arrival = picture.arrival, let mark = picture.readings[publisher.id]?.mark else { return nil }
            let time = Double(picture.time)
            return Delays(
                isMixed: picture.isComposed, shown: time - Double(mark.counter) * interval,
                arrived: Double(arrival) / 1e6 - time)
        }
        return stride(from: 0, through: seen.count - window, by: window).compactMap { start in
            let part = seen[start..<start + window]
            guard let isMixed = part.first?.isMixed, part.allSatisfy({ $0.isMixed == isMixed }),
                let shown = part.map(\.shown).median, let arrived = part.map(\.arrived).median
            else { return nil }
            return Delays(isMixed: isMixed, shown: shown, arrived: arrived)
        }
    }
}
