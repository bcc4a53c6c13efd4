import EncodedMedia
import TestSupport
import Testing

@testable import ViewerProbe

extension WhipSeamTests {
    /// Packets are lost and reordered, and for a second none arrives. Viewers see a whole picture all the time, and the
    /// sound keeps its place.
    @Test(.timeLimit(.minutes(8))) func aPoorNetwork() async throws {
        let random = SeededGenerator(announcedFor: "a poor network")
        try await Self.run { stage in
            let path = try LossyPath(seed: random)
            let alice = try await WhipPublisher("alice", Self.host, on: stage, through: path)
            try await alice.publish()
            try await stage.waitForOnAir("bypass")
            let clear = try await Self.judge(LossyPath.Weather(), of: path, "clear", on: stage)
            let usual = try #require(clear.offset)
            #expect(abs(usual) <= 40, "A/V offset \(usual) ms")
            // First, because frequent gaps would make the program wait longer before it bridges one.
            try await Self.expectABridge(over: path, usual: usual, on: stage)
            for (name, weather) in [
                ("5 % lost", LossyPath.Weather(loss: 0.05)), ("50 ms jitter", LossyPath.Weather(jitter: 50)),
                ("both", LossyPath.Weather(loss: 0.05, jitter: 50)),
            ] {
                let (report, offset) = try await Self.judge(weather, of: path, name, on: stage)
                #expect(report.decodeErrors.isEmpty && report.backwardTimestamps == 0, "seed \(random.seed) \(name)")
                #expect(report.blackMs == 0 && report.connections == 1)
                // A packet that is lost together with its retransmissions costs the pictures up to the next keyframe.
                #expect(report.frozenMs <= 1000, "seed \(random.seed) \(name)")
                let shift = try #require(offset) - usual
                #expect(abs(shift) <= 20, "seed \(random.seed) \(name)")
            }
            print("packets passed and lost: \(path.counts)")
            try await alice.leave()
            path.stop()
        }
    }

    /// Records the program for ten seconds of a weather.
    ///
    /// - Returns: The judgement, and the median delay of sound behind picture in ms.
    private static func judge(
        _ weather: LossyPath.Weather, of path: LossyPath, _ name: String, on stage: Stage
    ) async throws -> (report: ProbeReport, offset: Double?) {
        path.set(weather)
        let viewer = try await stage.record(stage.media.cdn(stage.room), as: name.replacing(" ", with: "-"))
        try await Task.sleep(for: .seconds(10))
        viewer.stop()
        let recording = await viewer.recording()
        let report = try await stage.judge(recording, limits: limits)
        let offset = try await offsets(in: recording).median
        print(
            "\(name): \(report.decodeErrors.count) decode errors, frozen \(report.frozenMs) ms, black \(report.blackMs) ms, "
                + "intervals \(report.videoIntervalsMs), \(report.sources.map { "lost \($0.lost) repeated \($0.repeated)" }), "
                + "A/V \(String(describing: offset)) ms")
        return (report, offset)
    }

    /// For one second, nothing arrives.
    private static func expectABridge(over path: LossyPath, usual: Double, on stage: Stage) async throws {
        path.set(LossyPath.Weather())
        let viewer = try await stage.record(stage.media.cdn(stage.room), as: "outage")
        try await Task.sleep(for: .seconds(3))
        let begin = MonotonicClock.now()
        path.set(LossyPath.Weather(isOut: true))
        try await Task.sleep(for: .seconds(1))
        path.set(LossyPath.Weather())
        try await Task.sleep(for: .seconds(2))
        let task = try await stage.waitForOnAir("bypass")
        // The last beeps are those of the bypass.
        try await Task.sleep(for: .seconds(5))
        viewer.stop()
        let recording = await viewer.recording()
        let report = try await stage.judge(recording, limits: limits)
        let trace = try recording.trace()
        for (name, track) in [("pictures", trace.video), ("sound", trace.audio)] {
            let arrivals = track.compactMap(\.arrival).filter { begin...begin + 2_000_000_000 ~= $0 }
            let pause = zip(arrivals, arrivals.dropFirst()).map { Double($1 - $0) / 1e6 }.max() ?? .infinity
            print("1 s outage: \(pause) ms without \(name)")
            // A gap of up to 600 ms in the last half minute makes the program wait for up to 750 ms. Without a bridge,
            // nothing would come for more than a second.
            #expect(pause < 900, "\(pause) ms without \(name)")
        }
        let offset = try #require(try await offsets(in: recording).suffix(3).median)
        print(
            "1 s outage: \(report.decodeErrors.count) decode errors, frozen \(report.frozenMs) ms, black \(report.blackMs) ms, "
                + "intervals \(report.videoIntervalsMs), switches \(report.switches.map(\.to)), A/V \(offset) ms")
        #expect(report.decodeErrors.isEmpty && report.backwardTimestamps == 0 && report.blackMs == 0)
        #expect(report.frozenMs <= 2500 && report.connections == 1 && task.outputs.map(\.reconnects) == [0])
        #expect(abs(offset - usual) <= 20, "A/V offset \(offset) ms, before \(usual) ms")
        #expect(try await stage.client.users(stage.room) == ["alice"])
    }

    /// Returns the delay of the host's sound behind her picture at each beep, in ms.
    private static func offsets(in recording: FLVRecording) async throws -> [Double] {
        let judgement = try await Probe.judgement(recording, ProbeConfiguration(publishers: [host]))
        return SwitchAnalysis(judgement.observation, judgement.configuration).avOffsets(of: host).map { $0.offset }
    }
}
