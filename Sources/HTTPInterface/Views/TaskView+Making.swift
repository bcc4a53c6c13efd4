import EncodedMedia
import EventSubscription
import Foundation
import MixModel
import RoomService

extension TaskView {
    /// Creates the view of a task. `nil` for an automatic task that has never had a plan.
    ///
    /// - Parameter room: The task's room.
    init?(_ task: OwnedTask, room: Room, services: RoomServices) {
        let machine = task.machine.document
        guard machine.revision > 0 || machine.isExplicit || machine.awaitsCapacity else { return nil }
        let status = task.status
        let plan = machine.plan
        id = machine.id.name
        self.room = machine.room.name
        kind = machine.isExplicit ? .explicit : .automatic
        (state, endReason) = machine.reportedState
        lastError = machine.lastError ?? status?.mixerError.map(Redaction.text)
        mixMode = if case .mix = plan?.mode { 1 } else { 0 }
        host = machine.host
        onAir = status?.onAir
        passthrough = Self.passthrough(status, plan, machine.seen(room).settings.program)
        idle = status?.idle.map {
            IdleStatus(state: $0.state, media: $0.media, error: $0.error.map(Redaction.text))
        }
        scene = status?.onAir == .bypass ? nil : status?.scene ?? (mixMode == 1 ? plan?.scene : nil)
        sources = (plan?.sources ?? []).map { source in
            Source(source, status, fault: services.pageFaults.reason(of: source.id, in: room.id))
        }
        outputs = (plan?.outputs ?? []).destinations.map { Output($0, status) }
        settings = Settings(of: machine.seen(room), services)
        if case .waiting = machine.phase {
            let isAhead = machine.settings?.schedule?.isAhead(at: Date().timeIntervalSince1970) ?? false
            waitingFor =
                isAhead
                ? .schedule
                : machine.awaitsCapacity ? .capacity : services.hasDestination(machine.seen(room)) ? .stream : .output
        }
        revision = machine.revision
        appliedRevision = status?.revision
        relayProcess = status?.processID
        programTime = status?.programTime.inSeconds
        twin = Self.twin(status, plan)
        degradation = plan.flatMap(Thrift.init)
        controls = RoomView.Control.all(of: room)
        viewers = services.viewers.viewers(of: machine.id)
    }

    static func passthrough(
        _ status: RelayStatus?, _ plan: ProgramPlan?, _ program: ProgramSettings?
    ) -> Passthrough {
        let tracks = plan?.tracks ?? .all
        switch status?.onAir {
        case .bypass:
            let source = status?.sources.first { $0.id == status?.bypassSource }
            let made = source?.transcoded
            let reason =
                made.flatMap { made in source.map { transcoding($0.id, made) } }
                ?? (tracks == .all ? nil : "the program has \(tracks.rawValue) only")
            let isMuted = plan?.sources.contains { $0.id == status?.bypassSource && $0.muted ?? false } ?? false
            let mute = isMuted ? source.map { "\($0.id) is muted by an operator: viewers get silence" } : nil
            return Passthrough(
                video: tracks != .audio && made != .video && made != .all,
                audio: tracks != .video && made != .audio && made != .all && !isMuted, reason: mute ?? reason)
        case .mix:
            if let reason = waiting(status, plan) { return Passthrough(video: false, audio: false, reason: reason) }
            if case .fixed = program?.composition {
                return Passthrough(video: false, audio: false, reason: "explicit panes are always mixed")
            }
            let reason =
                switch (plan?.sources.count, plan?.sources.first?.video) {
                case (1, _) where plan?.hasGain ?? false: "an operator has set a gain, which needs a mix"
                case (1, false?): "the only camera is off: a card is shown"
                case (1, _): "the room's policy is bypass: never"
                default: "several streams are mixed into one"
                }
            return Passthrough(video: false, audio: false, reason: reason)
        case .slate where status?.idle?.state == .playing:
            return Passthrough(video: false, audio: false, reason: "no participant is on air: idle media are played")
        case .slate:
            return Passthrough(video: false, audio: false, reason: "no participant is on air: the slate is shown")
        case nil:
            return Passthrough(video: false, audio: false, reason: "no relay is connected")
        }
    }

    /// The reason why the copied stream differs from the one that the source sends.
    private static func transcoding(_ source: SourceID, _ tracks: TrackSelection) -> String {
        switch tracks {
        case .video: "\(source) sends no H.264: its pictures are transcoded when they are pulled"
        case .audio: "\(source) sends no AAC: its sound is transcoded when it is pulled"
        case .all: "\(source) sends neither H.264 nor AAC: it is transcoded when it is pulled"
        }
    }

    private static func twin(_ status: RelayStatus?, _ plan: ProgramPlan?) -> Twin? {
        guard let plan, plan.redundancy == .twin, plan.tracks != .audio, status?.onAir == .mix else { return nil }
        if plan.degradation != nil { return .paused }
        return status?.load?.twin?.pace.made ?? 0 > 0 ? .ready : .starting
    }

    /// The reason why a mix is on air although one participant is to be copied; `nil` if this is not the case.
    private static func waiting(_ status: RelayStatus?, _ plan: ProgramPlan?) -> String? {
        guard case .bypass(let host)? = plan?.mode, plan?.revision == status?.revision else { return nil }
        let source = status?.sources.first { $0.id == host }
        if source?.refreshesGradually ?? false { return "\(host) sends no keyframes (intra refresh or open GOPs)" }
        guard let seconds = source?.secondsWithoutKeyframe else { return "waits for a keyframe of \(host)" }
        return "waits for a keyframe of \(host) for \(Int(seconds.rounded())) s"
    }
}

extension ProgramPlan {
    /// Whether a source is louder or quieter in the mix than its publisher sends it.
    fileprivate var hasGain: Bool { scene.sound.levels.contains { $0.gain != ParticipantControl.usualGain } }
}

extension TaskView.Thrift {
    init?(_ plan: ProgramPlan) {
        guard let degradation = plan.degradation else { return nil }
        self.init(
            level: degradation.level, fps: Double(plan.scene.canvas.fps) / Double(degradation.frameDivisor),
            reason: degradation.reason)
    }
}

extension TaskView.Source {
    /// - Parameter fault: Why the page that is this source is not on air. It says more than the silence that follows.
    fileprivate init(_ source: PlannedSource, _ status: RelayStatus?, fault: String?) {
        let actual = status?.sources.first { $0.id == source.id }
        self.init(
            id: source.id, url: StreamURL.redacted(source.url), state: actual?.state ?? .connecting,
            error: fault ?? actual?.error.map(Redaction.text), poor: actual?.poor, usesBackup: actual?.usesBackup,
            muted: source.muted)
    }
}

extension TaskView.Output {
    init(_ output: PushDestination, _ status: RelayStatus?) {
        let actual = status?.outputs.destinations.first { $0.id == output.id }
        self.init(
            id: output.id, url: StreamURL.redacted(output.url), state: actual?.state ?? .connecting,
            connectedSince: actual?.connectedSince.map { Date(timeIntervalSince1970: $0) },
            reconnects: actual?.reconnects ?? 0, bytesSent: actual?.bytesSent ?? 0,
            lastError: actual?.lastError.map(Redaction.text), lastErrorCode: actual?.lastErrorCode,
            droppedFrames: actual?.droppedFrames, retry: output.retry)
    }
}

extension TaskView.Settings {
    fileprivate init(of room: Room, _ services: RoomServices) {
        self.init(
            host: room.settings.host, layout: services.layoutName(of: room),
            canvas: room.settings.canvas ?? services.defaultCanvas, policy: room.settings.policy,
            outputs: services.outputs(of: room).map {
                Output(id: $0.id, url: StreamURL.redacted($0.url), retry: $0.retry)
            },
            program: room.settings.program.map(ProgramView.init),
            startsAt: room.settings.schedule?.startsAt.map { Date(timeIntervalSince1970: $0) },
            endsAt: room.settings.schedule?.endsAt.map { Date(timeIntervalSince1970: $0) },
            idle: room.settings.idle.map(IdleView.init), params: services.shownParams(of: room))
    }
}

extension TaskView.Switch {
    init(_ record: SwitchRecord) {
        self.init(
            at: Date(timeIntervalSince1970: record.wallClock), from: record.from, to: record.to, cause: record.cause,
            causes: record.causes ?? [], latencyMs: record.latencyMs, afterKeyframeMs: record.afterKeyframeMs,
            stages: record.stages, videoGapMs: record.videoGapMs, audioGapMs: record.audioGapMs)
    }
}
