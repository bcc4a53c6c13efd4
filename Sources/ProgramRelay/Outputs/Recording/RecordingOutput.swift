import EncodedMedia
import Foundation
import MediaFormats
import MixModel
import ProgramSplicer
import Synchronization

/// A recording of a program and, if requested, of each participant, each by its own process.
final class RecordingOutput: ProgramOutput {
    private struct State {
        var plan: PlannedRecording
        /// Recorders by their number, in the order in which they were started.
        var slots: [Int: RecordingSlot] = [:]
        /// Recorders whose files are being closed.
        var closing: Set<Int> = []
        var count = 0

        var open: [Int] { slots.keys.filter { !closing.contains($0) } }
    }

    private let context: OutputContext
    private let state: Mutex<State>

    /// Seconds that a recorder may take to end. Closing an hour's file on a slow disk takes several seconds.
    private static let closingTime = 20.0

    /// Starts to record the program, from its last keyframe.
    init(_ plan: PlannedRecording, in context: OutputContext) {
        self.context = context
        state = Mutex(State(plan: plan))
        let consumer = state.withLock { state in
            let slot = slot(nil, plan, preamble: preamble, wallClockAtZero: context.wallClockAtZero, &state)
            state.slots[slot.key.number] = slot
            return slot.consumer
        }
        consumer.tick()
    }

    /// Accepts a change of whether participants are recorded. Any other change is another recording.
    func adopt(_ planned: PlannedOutput) -> Bool {
        guard let plan = planned.document as? PlannedRecording else { return false }
        return state.withLock { state in
            var mine = state.plan
            mine.settings.participants = plan.settings.participants
            guard mine == plan else { return false }
            state.plan = plan
            return true
        }
    }

    func send(shared tags: [OutputTag]) {
        state.withLock { state in
            for number in state.open where state.slots[number]?.key.source == nil {
                state.slots[number]?.consumer.send(shared: tags)
            }
        }
    }

    func mark(_ mark: ProgramMark) { send(shared: mark.cue.map(OutputTag.init)) }

    // MARK: - Participants

    var takesSources: Bool {
        state.withLock { state in
            state.plan.settings.participants || state.open.contains { state.slots[$0]?.key.source != nil }
        }
    }

    /// Begins to record participants, from their last keyframe, once their timelines are settled on the program's, and
    /// ends the recordings of those who have left.
    func follow(_ sources: [OutputSource], now: MediaTime) -> [@Sendable () async -> Void] {
        let (started, ended) = state.withLock { state in
            let wanted = state.plan.settings.participants ? sources : []
            let ended = state.open.filter { number in
                guard let source = state.slots[number]?.key.source else { return false }
                return !wanted.contains { $0.id == source }
            }
            let consumers = close(ended, &state)
            let recorded = Set(state.open.compactMap { state.slots[$0]?.key.source })
            let started = wanted.filter { !recorded.contains($0.id) && $0.timeline.clock.isSettled(at: now) }
            return (started.map { start($0, now: now, &state) }, consumers)
        }
        for consumer in started { consumer.tick() }
        return ended.map { consumer in { await self.end(consumer) } }
    }

    func take(_ event: SourceTimeline.Event, of source: SourceID) {
        state.withLock { state in
            for number in state.open where state.slots[number]?.key.source == source {
                state.slots[number]?.take(event)
            }
        }
    }

    private func start(_ source: OutputSource, now: MediaTime, _ state: inout State) -> RecordingSlot.Consumer {
        var plan = state.plan
        // A participant who joins again is recorded in a new file.
        plan.settings.singleFilePerLayer = false
        let group = source.timeline.currentGOP
        // Time 0 of a stream that begins with the source's current group of pictures.
        let zero = group.first.map { Date().timeIntervalSince1970 - (now - $0.dts).inSeconds }
        var slot = slot(source.id, plan, preamble: [], wallClockAtZero: zero, &state)
        for configuration in [source.timeline.video, source.timeline.audio].compactMap({ $0 }) {
            slot.take(.configuration(configuration))
        }
        for frame in group { slot.take(.frame(frame)) }
        state.slots[slot.key.number] = slot
        return slot.consumer
    }

    // MARK: - Recorders

    /// Creates a recorder, whose process starts with the consumer's first `tick`.
    private func slot(
        _ source: SourceID?, _ plan: PlannedRecording, preamble: [FLVTag], wallClockAtZero: Double?,
        _ state: inout State
    ) -> RecordingSlot {
        state.count += 1
        let key = RecordingSlot.Key(recording: plan.id, source: source, number: state.count)
        let settings = RecorderSettings(
            room: context.room.name, task: context.task.name, source: source, recording: plan,
            wallClockAtZero: wallClockAtZero)
        let consumer = RecordingSlot.Consumer(
            worker: context.worker, subcommand: "recorder", settings: settings, preamble: preamble,
            label: "recorder.\(key.number)"
        ) { [weak self] event in self?.handle(event, of: key.number) }
        return RecordingSlot(key: key, planned: plan, consumer: consumer)
    }

    /// Headers, a cue with the content on air, and the current group of pictures.
    private var preamble: [FLVTag] {
        var mark = context.mark
        mark?.cause = "recording started"
        return context.headers + (mark?.cue ?? []) + context.group
    }

    private func handle(_ event: RecordingSlot.Consumer.Event, of number: Int) {
        let news = state.withLock { state in
            let news = state.slots[number]?.take(event)
            if case .ended = event {
                state.slots[number] = nil
                state.closing.remove(number)
            }
            return news
        }
        if let news { context.report(.note(code: news.code, message: news.message, isBad: news.isBad)) }
    }

    var needsTicks: Bool { true }

    func tick() {
        // Without the lock, because a consumer reports from within.
        let consumers = state.withLock { state in state.open.compactMap { state.slots[$0]?.consumer } }
        for consumer in consumers { consumer.tick() }
    }

    var statuses: [OutputStatus] {
        state.withLock { state in
            state.open.sorted().compactMap { number in state.slots[number].map { OutputStatus($0.status) } }
        }
    }

    /// Returns the consumers to end.
    private func close(_ numbers: [Int], _ state: inout State) -> [RecordingSlot.Consumer] {
        state.closing.formUnion(numbers)
        return numbers.compactMap { state.slots[$0]?.consumer }
    }

    private func end(_ consumer: RecordingSlot.Consumer) async { await consumer.end(within: Self.closingTime) }

    /// Waits until all files are closed. A recorder that takes longer than 20 s is killed.
    func close() async {
        let consumers = state.withLock { state in close(state.open, &state) }
        await withTaskGroup { group in
            for consumer in consumers { group.addTask { await self.end(consumer) } }
        }
    }
}

extension RecordingOutput: OutputKind {
    static let name = "recording"

    static func open(_ plan: PlannedRecording, in context: OutputContext) -> any ProgramOutput {
        RecordingOutput(plan, in: context)
    }
}

extension ProgramMark {
    /// The mark in the form that recorders read from the stream.
    fileprivate var cue: [FLVTag] {
        let change = RecordingManifest.Switch(
            at: at.inSeconds, wallClock: wallClock, from: from, to: to, source: source, cause: cause,
            panes: RecordingManifest.panes(of: scene))
        guard let data = try? JSONEncoder().encode(change) else { return [] }
        let text = String(decoding: data, as: UTF8.self)
        return [
            FLVCue(name: RecorderCue.switched, text: text).tag(at: UInt32(truncatingIfNeeded: at.roundedMilliseconds))
        ]
    }
}
