import LayoutEngine

extension RelayReport {
    /// The report with its numbers limited to usable ranges. A relay is a process of its own, and none of its reports
    /// may crash their reader.
    public var bounded: RelayReport {
        switch self {
        case .status(let status): .status(status.bounded)
        case .switched(let record): .switched(record.bounded)
        case .note, .refused: self
        }
    }
}

extension RelayStatus {
    fileprivate var bounded: RelayStatus {
        var status = self
        status.sources = sources.map(\.bounded)
        status.outputs = outputs.map(\.bounded)
        status.load = load?.bounded
        return status
    }
}

extension SourceStatus {
    /// The status without picture sizes outside 1…16384 pixels and picture rates outside 0…1000 per second, which
    /// become unknown.
    fileprivate var bounded: SourceStatus {
        var status = self
        status.pictureSize = pictureSize.flatMap { 1...16384 ~= $0.width && 1...16384 ~= $0.height ? $0 : nil }
        status.secondsWithoutKeyframe = secondsWithoutKeyframe?.boundedSeconds
        status.frameRate = frameRate.flatMap { 0...1000 ~= $0 ? $0 : nil }
        return status
    }
}

extension RelayLoad {
    fileprivate var bounded: RelayLoad {
        RelayLoad(
            relaySeconds: relaySeconds.boundedSeconds, mixer: mixer?.bounded, twin: twin?.bounded)
    }
}

extension MixerLoad {
    fileprivate var bounded: MixerLoad {
        MixerLoad(
            processID: processID, cpuSeconds: cpuSeconds.boundedSeconds,
            frameDivisor: min(max(frameDivisor, 1), MixerCommand.mostFrameDivisor),
            pace: FramePace(
                made: pace.made.boundedCount, late: pace.late.boundedCount, missing: pace.missing.boundedCount))
    }
}

extension SwitchRecord {
    fileprivate var bounded: SwitchRecord {
        var record = self
        record.latencyMs = latencyMs.boundedMilliseconds
        record.afterKeyframeMs = afterKeyframeMs?.boundedMilliseconds
        record.stages = stages?.bounded
        record.videoGapMs = videoGapMs.boundedMilliseconds
        record.audioGapMs = audioGapMs?.boundedMilliseconds
        record.wallClock = wallClock.boundedSeconds
        return record
    }
}
