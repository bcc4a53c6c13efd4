import EncodedMedia
import Foundation
import LayoutEngine
import MediaFormats
import MixModel
import ProgramSplicer

extension Relay {
    /// Starts and ends recordings, so that exactly those of the plan run.
    func applyRecordings(_ plan: ProgramPlan) {
        let wanted = plan.recordings ?? []
        let publishing = Set(plan.sources.map(\.id))
        for slot in recordings.values where !slot.isWanted(by: wanted, publishing: publishing) { end(slot) }
        for planned in wanted { record(planned, source: nil) }
        recordWhoHasCome()
    }

    /// Begins to record participants, from the last keyframe on, once their timelines are settled on the program's.
    private func recordWhoHasCome() {
        let now = now
        for planned in plan?.recordings ?? [] where planned.settings.participants {
            for source in plan?.sources ?? [] {
                guard let timeline = sources[source.id]?.timeline, timeline.clock.isSettled(at: now) else { continue }
                record(planned, source: source.id)
            }
        }
    }

    private func record(_ planned: PlannedRecording, source: SourceID?) {
        let isThere = recordings.keys.contains { $0.recording == planned.id && $0.source == source }
        guard !isThere, let plan else { return }
        recordingCount += 1
        let key = RecordingSlot.Key(recording: planned.id, source: source, number: recordingCount)
        var planned = planned
        // A participant who joins again is recorded in a new file.
        if source != nil { planned.settings.singleFilePerLayer = false }
        // Time 0 of the program's own stream, or of a stream that begins with the source's current group of pictures.
        let group = source.flatMap { sources[$0]?.timeline.currentGOP.first?.dts }
        let zero = source == nil ? program.streamTime(of: .zero).map { -$0 } : group
        let settings = RecorderSettings(
            room: plan.room.name, task: plan.task.name, source: source, recording: planned,
            wallClockAtZero: zero.map { Date().timeIntervalSince1970 - (now - $0).inSeconds })
        let consumer = RecordingSlot.Consumer(
            worker: configuration.worker, subcommand: "recorder", settings: settings,
            preamble: source == nil ? recordingPreamble : [], label: "recorder.\(recordingCount)"
        ) { [inbox, news] event in
            if case .report = event, !news.addIfItFits(0) { return }
            inbox.yield(.recorder(key, event))
        }
        recordings[key] = RecordingSlot(key: key, planned: planned, consumer: consumer)
        if let source { replay(source, to: key) }
        consumer.tick()
    }

    /// Headers, a cue with what is on air, and the current group of pictures.
    private var recordingPreamble: [FLVTag] {
        let group = program.currentGOP
        guard let first = group.first, let onAir = splicer.onAir else { return program.preamble + group }
        let change = RecordingManifest.Switch(
            at: Double(first.timestamp) / 1000, wallClock: Date().timeIntervalSince1970, from: nil, to: kind(onAir),
            source: source(of: onAir), cause: "recording started", panes: onAir.isMixer ? sceneOnAir : nil)
        return program.preamble + cue(change, at: first.timestamp) + group
    }

    /// Sends a recorder the source's configurations and current GOP, so that it can begin at once.
    private func replay(_ source: SourceID, to key: RecordingSlot.Key) {
        guard let timeline = sources[source]?.timeline else { return }
        for configuration in [timeline.video, timeline.audio].compactMap({ $0 }) {
            recordings[key]?.take(configuration)
        }
        for frame in timeline.currentGOP { recordings[key]?.take(frame) }
    }

    private func end(_ slot: RecordingSlot) {
        recordings[slot.key] = nil
        closingRecordings[slot.key] = slot
        endings.append { await slot.consumer.end(within: Relay.closingTime) }
    }

    /// Seconds that a recorder may take to end. Closing an hour's file on a slow disk takes some seconds.
    private static let closingTime = 20.0

    func endRecordings() {
        for slot in recordings.values { end(slot) }
    }

    func recorderEvent(_ event: RecordingSlot.Consumer.Event, of key: RecordingSlot.Key) {
        if case .report = event { self.news.remove(0) }
        let news: RecordingSlot.News?
        if recordings[key] != nil {
            news = recordings[key]?.take(event)
        } else {
            news = closingRecordings[key]?.take(event)
            if case .ended = event { closingRecordings[key] = nil }
        }
        guard let news else { return }
        note(code: news.code, news.message, isBad: news.isBad)
        reportStatus()
    }

    func tickRecordings() {
        recordWhoHasCome()
        for slot in recordings.values { slot.consumer.tick() }
    }

    /// Sends tags of the program to its recorders.
    func sendToRecorders(_ tags: [OutputTag]) {
        for slot in recordings.values where slot.key.source == nil { slot.consumer.send(shared: tags) }
    }

    func sendToRecorders(_ configuration: CodecConfiguration, of source: SourceID) {
        for key in recordings.keys where key.source == source { recordings[key]?.take(configuration) }
    }

    func sendToRecorders(_ frame: EncodedFrame, of source: SourceID) {
        for key in recordings.keys where key.source == source { recordings[key]?.take(frame) }
    }

    func tellRecorders(of source: SourceID, movedBy amount: MediaTime?) {
        for key in recordings.keys where key.source == source { recordings[key]?.sourceMoved(by: amount) }
    }

    func tellRecorders(_ record: SwitchRecord) {
        guard !recordings.isEmpty, let time = program.streamTime(of: record.at) else { return }
        let change = RecordingManifest.Switch(
            at: time.inSeconds, wallClock: record.wallClock, from: record.from, to: record.to, source: record.source,
            cause: record.cause, panes: record.to == .bypass ? nil : sceneOnAir)
        sendToRecorders(cue(change, at: UInt32(truncatingIfNeeded: time.roundedMilliseconds)).map(OutputTag.init))
    }

    private func cue(_ change: RecordingManifest.Switch, at timestamp: UInt32) -> [FLVTag] {
        guard let data = try? JSONEncoder().encode(change) else { return [] }
        return [FLVCue(name: RecorderCue.switched, text: String(decoding: data, as: UTF8.self)).tag(at: timestamp)]
    }

    var recordingStatuses: [RecordingStatus]? {
        recordings.isEmpty
            ? nil
            : recordings.values.sorted { $0.key.number < $1.key.number }.map(\.status)
    }
}

extension RecordingSlot {
    fileprivate func isWanted(by wanted: [PlannedRecording], publishing: Set<SourceID>) -> Bool {
        guard var planned = wanted.first(where: { $0.id == key.recording }) else { return false }
        if let source = key.source {
            guard planned.settings.participants, publishing.contains(source) else { return false }
            planned.settings.singleFilePerLayer = false
        }
        var mine = self.planned
        mine.settings.participants = planned.settings.participants
        return mine == planned
    }
}

extension RecordingManifest.Switch {
    fileprivate init(
        at: Double, wallClock: Double, from: OnAir?, to: OnAir, source: SourceID?, cause: String, panes scene: Scene?
    ) {
        self.init(
            at: at, wallClock: wallClock, from: from, to: to, source: source, cause: cause,
            panes: RecordingManifest.panes(of: scene))
    }
}
