import EncodedMedia
import Foundation
import LayoutEngine
import MediaFormats
import MixModel
import ProgramSplicer
import RTMP

extension Relay {
    /// Performs the splicer's actions, in order.
    func perform(_ actions: [Splicer.Action]) {
        for action in actions {
            switch standby.take(action, tracks: splicer.tracks, now: now) {
            case .send: break
            case .keep:
                if case .emit(let frame) = action { noteKeyframe(frame) }
                continue
            case .stop:
                if case .emit(let frame) = action { noteKeyframe(frame) }
                beginSilence()
                continue
            }
            switch action {
            case .configure(let configuration):
                if configuration.track == .video { pictures = VideoConfiguration(configuration) }
                distribute(program.configure(configuration))
            case .emit(let frame):
                noteKeyframe(frame)
                let tags = program.write(withMessages(frame))
                sendLayout(with: tags, of: frame)
                distribute(tags)
                noteAnchor(frame)
            case .requestIDR(let generation, let time):
                logger.debug("asks mixer \(generation) for an IDR at \(time), now \(now)")
                if mixer?.generation == generation { mixer?.process.send(.requestIDR(time)) }
            case .shift(let source, let amount):
                sources[source]?.timeline.shift(by: amount)
                sendToOutputs(.moved(by: amount), of: source)
            case .switched(let splice): report(splice)
            }
        }
    }

    /// Returns the frame with the due SEI messages; unchanged if there are none.
    private func withMessages(_ frame: EncodedFrame) -> EncodedFrame {
        guard frame.track == .video, !messages.isEmpty else { return frame }
        let due = messages.messages(at: frame.dts, isIDR: frame.isIDR, wallClock: { wallClock(of: frame) }) {
            layout(at: wallClock(of: frame))
        }
        guard !due.isEmpty, let pictures else { return frame }
        let unit = SEIMessage.nalUnit(due, pictures.codec)
        return frame.inserting(nalUnit: unit, lengthSize: pictures.lengthSize, codec: pictures.codec) ?? frame
    }

    /// Returns the time of day that belongs to the frame's program time, in ms since 1970. Frames that wait for a
    /// splice or arrive in a burst keep the distances at which they are shown.
    private func wallClock(of frame: EncodedFrame) -> Int64 {
        Int64((Date().timeIntervalSince1970 * 1000 + (frame.pts - now).inMilliseconds).rounded())
    }

    /// Returns the layout of the picture on air, for the SEI messages.
    private func layout(at milliseconds: Int64) -> SEILayout {
        SEILayout(picture, volumes: mixer?.volumes ?? [:], people: people, at: milliseconds)
    }

    /// Records what players are told about the publishers of a plan, and keeps those of former sources, which may still
    /// be on air, until they are removed.
    func notePeople(of plan: ProgramPlan) {
        let planned = plan.sources.map { source in
            (source.id, SEILayout.Person(name: source.name, isPlayable: isPlayable(source)))
        }
        people = people.filter { sources[$0.key] != nil }.merging(planned) { $1 }
    }

    /// Records that a source's pictures may have another codec now.
    func notePictures(of id: SourceID, _ source: PulledSource) {
        people[id]?.isPlayable = isPlayable(source.planned)
    }

    /// Returns whether the service can play the source's stream alone, over WebRTC: viewers are sent H.264 only, as the
    /// sender has encoded it. Pictures of any other codec depend on what the program carries.
    private func isPlayable(_ source: PlannedSource) -> Bool {
        guard PlayOrigin.plays(source.url) else { return false }
        return sources[source.id].map { $0.planned.url != source.url || !$0.dependsOnCarriedCodecs } ?? true
    }

    /// The picture on air.
    private var picture: SEILayout.Picture {
        if case .source(let source) = splicer.onAir {
            return .bypass(source, size: sources[source]?.timeline.pictureSize)
        }
        return .mix(sceneOnAir ?? plan?.scene ?? Scene(canvas: .portrait, panes: []))
    }

    /// Sends a changed layout to the viewers who take layouts, ahead of the frame's tags and at their time.
    private func sendLayout(with tags: [FLVTag], of frame: EncodedFrame) {
        guard frame.track == .video || splicer.tracks == .audio, let timestamp = tags.last?.timestamp else { return }
        // Volumes are measured only for programs that carry them.
        let volumes: [SourceID: Int]? = messages.settings?.layoutVolume == nil ? nil : mixer?.volumes ?? [:]
        let changed = viewerLayout.note(
            picture, people: people, volumes: volumes, at: timestamp, isEntry: frame.isIDR || frame.track == .audio,
            wallClock: { wallClock(of: frame) })
        guard let bytes = changed?.encoded else { return }
        for connection in connections.values where connection.takesLayouts { connection.channel.send(bytes) }
    }

    /// Changes the program's tracks from now on.
    func setTracks(_ tracks: SourceSelection.Tracks) {
        guard tracks != splicer.tracks else { return }
        perform(splicer.setTracks(tracks, now: now))
        distribute(program.setTracks(tracks))
    }

    /// Sends tags to every output and viewer. Each output has its own queue, so that none can delay another.
    private func distribute(_ tags: [FLVTag]) {
        guard !tags.isEmpty else { return }
        let shared = tags.map(OutputTag.init)
        for output in outputs.values { output.send(shared: shared) }
        guard connections.values.contains(where: { $0.role == .viewer }) else { return }
        let bytes = shared.flatMap(\.bytes)
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

    private func noteKeyframe(_ frame: EncodedFrame) {
        guard frame.track == .video, frame.isIDR, let onAir = splicer.onAir else { return }
        let distance = isSlateRepeated ? nil : mixers.first { $0.feed == onAir }?.keyframeDistance
        keyframeRequests.noteKeyframe(at: frame.pts, of: onAir, distance: distance)
    }

    /// Returns the FLV header, metadata, sequence headers, and all tags since the last keyframe.
    ///
    /// - Parameters:
    ///   - announcesRequests: Whether a leading tag announces that the viewer may ask for keyframes.
    ///   - hasLayout: Whether the current layout is among the tags.
    func viewerPreamble(announcesRequests: Bool, hasLayout: Bool) -> [UInt8] {
        let announcement = announcesRequests ? [KeyframeRequest.announcement] : []
        let (headers, group) = (announcement + program.preamble, program.currentGOP)
        let tags = hasLayout ? viewerLayout.inserted(between: headers, and: group) : headers + group
        return FLVTag.fileHeader(of: splicer.tracks) + tags.flatMap { $0.encoded }
    }

    private func report(_ splice: Splice) {
        let caused = MediaTime(nanoseconds: plan?.causedAt ?? programStart) - MediaTime(nanoseconds: programStart)
        let keyframes = (plan?.sources ?? []).compactMap { sources[$0.id]?.firstKeyframeAt }
        let ready = max(caused, keyframes.max() ?? caused)
        let taker = mixers.first { $0.feed == splice.to }
        let stages = SwitchStages(
            since: caused, plan: planAppliedAt, mixer: taker?.startedAt, picture: taker?.firstPictureAt,
            held: splice.heldAt)
        let record = SwitchRecord(
            at: splice.at, from: splice.from.map(kind), to: kind(splice.to),
            source: source(of: splice.to), cause: plan?.cause ?? "", causes: plan?.causes,
            latencyMs: (splice.performedAt - caused).inMilliseconds,
            afterKeyframeMs: (splice.performedAt - ready).inMilliseconds, stages: stages,
            videoGapMs: splice.videoGap?.inMilliseconds ?? 0, audioGapMs: splice.audioGap?.inMilliseconds,
            wallClock: Date().timeIntervalSince1970)
        logger.info(
            "switched to \(record.to) at \(splice.at): video gap \(record.videoGapMs) ms, audio gap \(record.audioGapMs ?? 0) ms"
        )
        send(.switched(record))
        markOutputs(record)
        reportStatus()
    }

    /// Returns the kind of program that viewers see while `feed` is on air.
    func kind(_ feed: SpliceInput) -> OnAir {
        guard feed.isMixer else { return .bypass }
        guard let scene = sceneOnAir else { return .slate }
        let isEmpty = splicer.tracks == .audio ? scene.sound.levels.isEmpty : scene.panes.isEmpty
        return isEmpty || scene.isIdle ? .slate : .mix
    }

    func source(of feed: SpliceInput) -> SourceID? {
        if case .source(let source) = feed { source } else { nil }
    }
}
