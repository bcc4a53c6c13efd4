import Foundation
import MixModel
import ProgramSplicer

extension Relay {
    /// Performs what the splicer decided, in order.
    func perform(_ actions: [Splicer.Action]) {
        for action in actions {
            switch action {
            case .configure(let configuration): distribute(program.configure(configuration))
            case .emit(let frame): distribute(program.write(frame))
            case .requestIDR(let generation, let time):
                logger.debug("asks mixer \(generation) for an IDR at \(time), now \(now)")
                if mixer?.generation == generation { mixer?.process.send(.requestIDR(time)) }
            case .shift(let source, let amount): sources[source]?.timeline.shift(by: amount)
            case .switched(let splice): report(splice)
            }
        }
    }

    /// Every output gets every tag; each has its own queue, so that none can hold up another.
    private func distribute(_ tags: [FLVTag]) {
        guard !tags.isEmpty else { return }
        for output in outputs.values { output.send(tags) }
        guard connections.values.contains(where: { $0.role == .viewer }) else { return }
        let bytes = tags.flatMap { $0.encoded }
        for (id, connection) in connections where connection.role == .viewer {
            guard connection.channel.pendingBytes < Connection.viewerLimit else {
                logger.notice("a viewer is too slow and is disconnected")
                connection.channel.close()
                connections[id] = nil
                continue
            }
            connection.channel.send(bytes)
        }
    }

    /// FLV header, metadata, sequence headers, and everything since the last keyframe.
    var viewerPreamble: [UInt8] {
        FLVTag.fileHeader + (program.preamble + program.currentGOP).flatMap { $0.encoded }
    }

    private func report(_ splice: Splice) {
        let caused = MediaTime(nanoseconds: (plan?.causedAt ?? programStart) - programStart)
        let keyframes = (plan?.sources ?? []).compactMap { sources[$0.id]?.firstKeyframeAt }
        let ready = max(caused, keyframes.max() ?? caused)
        let record = SwitchRecord(
            at: splice.at, from: splice.from.map(kind), to: kind(splice.to),
            source: source(of: splice.to), cause: plan?.cause ?? "", causes: plan?.causes,
            latencyMs: (splice.performedAt - caused).inMilliseconds,
            afterKeyframeMs: (splice.performedAt - ready).inMilliseconds,
            videoGapMs: splice.videoGap?.inMilliseconds ?? 0, audioGapMs: splice.audioGap?.inMilliseconds,
            wallClock: Date().timeIntervalSince1970)
        logger.info(
            "switched to \(record.to) at \(splice.at): video gap \(record.videoGapMs) ms, audio gap \(record.audioGapMs ?? 0) ms"
        )
        send(.switched(record))
        reportStatus()
    }

    /// What viewers see when `feed` is on air.
    func kind(_ feed: Feed) -> OnAir {
        guard feed.isMixer else { return .bypass }
        return (sceneOnAir?.panes ?? []).isEmpty ? .slate : .mix
    }

    func source(of feed: Feed) -> SourceID? {
        if case .source(let source) = feed { source } else { nil }
    }
}
