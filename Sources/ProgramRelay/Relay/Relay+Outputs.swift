import EncodedMedia
import Foundation
import LayoutEngine
import MediaFormats
import MixModel
import ProgramSplicer

/// The program's outputs of all kinds.
extension Relay {
    /// Closes and opens outputs, so that exactly those of the plan run. Outputs that accept their changed plan, and all
    /// unchanged ones, are not affected. A new output starts with the program's last keyframe.
    func applyOutputs(_ plan: ProgramPlan) {
        // They are opened when the standby ends.
        guard !standby.isSilent else { return }
        let planned = Dictionary(plan.outputs.map { ($0.key, $0) }) { first, _ in first }
        for (key, output) in outputs where planned[key].map({ !output.adopt($0) }) ?? true {
            outputs[key] = nil
            endings.append { await output.close() }
        }
        for output in plan.outputs where outputs[output.key] == nil {
            outputs[output.key] = OutputKinds.open(output, in: context(of: plan))
            if outputs[output.key] == nil {
                logger.error("output \(output.key.id): this relay has no outputs of the kind \(output.key.kind)")
            }
        }
        followSources()
    }

    private func context(of plan: ProgramPlan) -> OutputContext {
        let group = program.currentGOP
        // The viewers' picture has a position in the stream only if there are frames.
        let mark = group.first.flatMap { first in
            splicer.onAir.map { onAir in
                ProgramMark(
                    at: .milliseconds(Int64(first.timestamp)), wallClock: Date().timeIntervalSince1970, from: nil,
                    to: kind(onAir), source: source(of: onAir), cause: plan.cause,
                    scene: onAir.isMixer ? sceneOnAir : nil)
            }
        }
        let zero = program.streamTime(of: .zero).map { Date().timeIntervalSince1970 - (now + $0).inSeconds }
        return OutputContext(
            room: plan.room, task: plan.task, worker: configuration.worker, reach: plan.outputReach, logger: logger,
            headers: program.preamble, group: group, mark: mark, wallClockAtZero: zero
        ) { [weak self, news] report in
            if news.addIfItFits(report.footprint) { self?.post(.output(report)) }
        }
    }

    func outputReported(_ report: OutputReport) {
        news.remove(report.footprint)
        switch report {
        case .keyframeWanted: return requestKeyframe()
        case .note(let code, let message, let isBad): note(code: code, message, isBad: isBad)
        case .changed: break
        }
        reportStatus()
    }

    func tickOutputs() {
        followSources()
        for output in outputs.values { output.tick() }
    }

    /// Reports once that HLS has no audio, because MPEG-TS cannot express the program's format.
    func tellUnfitSound() {
        guard outputs.keys.contains(where: { $0.kind == PlannedHLS.kind }), let sound = splicer.audioConfiguration,
            sound != reportedUnfitSound, let format = AudioSpecificConfig(sound.bytes), ADTSHeader(format) == nil
        else { return }
        reportedUnfitSound = sound
        note(
            code: "hls-without-sound",
            "HLS has no sound: AAC of object type \(format.objectType) at \(format.sampleRate) Hz with "
                + "\(format.samplesPerFrame) samples per frame cannot be put into MPEG-TS; publish AAC-LC with 1024")
    }

    private func followSources() {
        let followers = outputs.values.filter(\.takesSources)
        guard !followers.isEmpty, let plan else { return }
        let now = now
        let known = plan.sources.compactMap { source in
            sources[source.id].map { OutputSource(id: source.id, timeline: $0.timeline) }
        }
        for output in followers { endings += output.follow(known, now: now) }
    }

    func sendToOutputs(_ event: SourceTimeline.Event, of source: SourceID) {
        for output in outputs.values where output.takesSources { output.take(event, of: source) }
    }

    /// Tells outputs that viewers see something else.
    func markOutputs(_ record: SwitchRecord) {
        guard !outputs.isEmpty, let time = program.streamTime(of: record.at) else { return }
        let mark = ProgramMark(
            at: time, wallClock: record.wallClock, from: record.from, to: record.to, source: record.source,
            cause: record.cause, scene: record.to == .bypass ? nil : sceneOnAir)
        for output in outputs.values { output.mark(mark) }
    }

    func retryNow(_ id: OutputID) {
        for (key, output) in outputs where key.id == id { output.retryNow() }
    }

    var outputStatuses: [OutputStatus] { outputs.sorted { $0.key < $1.key }.flatMap(\.value.statuses) }
}
