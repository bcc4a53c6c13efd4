import Foundation

/// Judges a recorded program from the viewer's side.
public enum Probe {
    /// A judged recording with the basis of its judgement.
    public struct Judgement: Sendable {
        public let report: ProbeReport
        let observation: ProgramObservation
        let configuration: ProbeConfiguration

        /// The recording over time. Created anew by each call, in a time that grows with the recording's length.
        public var plot: ProbePlot { ProbePlot(observation, configuration, report) }
    }

    /// Decodes and judges a recording. Blocking: do not call it on the cooperative pool; `judge(_:_:)` is for that.
    public static func judgeBlocking(
        _ recording: FLVRecording, _ configuration: ProbeConfiguration
    ) throws(ProbeError) -> ProbeReport {
        try judgementBlocking(recording, configuration).report
    }

    /// Decodes and judges a recording, as `judgeBlocking(_:_:)` does, and keeps the observation.
    static func judgementBlocking(
        _ recording: FLVRecording, _ configuration: ProbeConfiguration
    ) throws(ProbeError) -> Judgement {
        let observation = try ProgramObservation(recording, configuration)
        let report = report(
            observation, configuration, connections: recording.connections, publisherLosses: recording.publisherLosses)
        return Judgement(report: report, observation: observation, configuration: configuration)
    }

    /// Decodes and judges a recording on a separate thread.
    public static func judge(
        _ recording: FLVRecording, _ configuration: ProbeConfiguration
    ) async throws -> ProbeReport {
        try await judgement(recording, configuration).report
    }

    /// Decodes and judges a recording on a thread of its own, and keeps the observation.
    public static func judgement(
        _ recording: FLVRecording, _ configuration: ProbeConfiguration
    ) async throws -> Judgement {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread {
                continuation.resume(with: Result { try judgementBlocking(recording, configuration) })
            }
            thread.name = "probe-judge"
            thread.start()
        }
    }

    /// Judges an observation. Pure.
    static func report(
        _ observation: ProgramObservation, _ configuration: ProbeConfiguration, connections: Int, publisherLosses: Int
    ) -> ProbeReport {
        let timing = observation.timing
        let times = timing.videoTimes
        let intervals = zip(times, times.dropFirst()).map { Double($1 - $0) }
        let content = ContentAnalysis(observation.pictures, configuration: configuration)
        let switches = SwitchAnalysis(observation, configuration)
        let span = (times.first ?? 0)...(times.last ?? 0)
        return ProbeReport(
            connections: connections, publisherLosses: publisherLosses,
            seconds: Double(span.upperBound - span.lowerBound) / 1000, videoFrames: times.count,
            audioFrames: timing.audioFrames,
            videoIntervalsMs: [intervals.min() ?? 0, intervals.median ?? 0, intervals.max() ?? 0],
            audioDeviationMs: timing.worstAudioGap(in: Int64.min...Int64.max)?.deviation ?? 0,
            backwardTimestamps: timing.backwardVideo + timing.backwardAudio, decodeErrors: observation.decodeErrors,
            frozenMs: content.frozenMs, blackMs: content.blackMs, unreadable: content.unreadable,
            sources: content.sources, mixDelayMs: switches.mixDelay(), switches: switches.reports()
        ).judged(by: configuration)
    }
}
