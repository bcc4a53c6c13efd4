/// Decides what a room's task does. Pure: rooms, reports and passed deadlines in, actions out.
///
/// The value is the task's document in the store. Points in time are nanoseconds of CLOCK_MONOTONIC, which are
/// meaningless after a reboot: `restored` replaces them.
public struct TaskMachine: Hashable, Codable, Sendable {
    public let id: TaskID
    public let room: RoomID
    /// Settings of an explicit task, in place of its room's; `nil` means that the task is automatic.
    @Boxed public internal(set) var settings: RoomSettings?
    /// Version of the settings, as in `Room.settingsVersion`.
    public internal(set) var settingsVersion: Int64?
    /// First settings of an explicit task, once they were changed. A repetition of the original request is answered
    /// with this task.
    @Boxed var firstSettings: RoomSettings?
    /// Data that the task's creator keeps with it, opaque here and bounded by the creator. May contain secrets.
    public internal(set) var attachment: String?
    /// Whether the room has been open since the task was created; a task may be created for a closed room.
    var sawOpenRoom: Bool?
    /// Time at which an explicit task was created, in seconds since 1970. Set by the owner.
    public var madeAt: Double?
    /// Time at which the task was found to have ended for good, in seconds since 1970. Set by the owner.
    public var finishedAt: Double?
    public internal(set) var phase: Phase
    /// Plan in force; `nil` before the first one and after the end.
    @Boxed public internal(set) var plan: ProgramPlan?
    /// Revision of the last plan ever made. It never goes back, not even when the task ends and starts again.
    public internal(set) var revision: Int
    /// The host of the program so far.
    public internal(set) var host: UserID?
    /// Facts about sources that the plan in force is based on, so that a restarted service makes the same plan; `nil`
    /// before the first one.
    public internal(set) var sourceFacts: SourceFacts?
    /// Last failure of the relay, or refusal to start it; cleared when the relay is back.
    public internal(set) var lastError: String?
    /// Reason why the task does not start while it waits for room on the machine.
    public internal(set) var refusal: AdmissionRefusal?

    /// Time until which changes are held back; `nil` means that the next change acts at once.
    var quietUntil: Int64?
    /// Causes held back by the debounce window, oldest first.
    var pending: [Cause]
    /// Number of the last deadline scheduled of each kind; `nil` if none is awaited.
    var replanDeadline: Int?
    var idleDeadline: Int?
    var relaunchDeadline: Int?
    var deadlines: Int
    /// Number of consecutive starts of the relay that failed or ended early.
    var failedLaunches: Int
    /// Time at which the relay was last connected.
    var connectedAt: Int64?
    /// Causes for which the relay was launched, or told to end.
    var relayCauses: [CauseID]?

    /// The state of a task between two events.
    public enum Phase: Hashable, Codable, Sendable {
        /// No relay is wanted: the room has no stream or no outputs yet, or the task ended.
        case waiting(after: EndReason?)
        /// The task ended although participants are on air. It waits until the room is empty, or until this user
        /// publishes.
        case held(until: UserID?)
        /// The relay is being started for the first time.
        case starting
        case running
        /// The relay was lost and is being started again.
        case recovering
        /// The relay is being drained.
        case ending(EndReason)
        /// An explicit task that was deleted, whose room was, or that ended for good by its policy. It never starts
        /// again.
        case finished(EndReason)
    }

    /// Time after a change that acted within which further changes are merged into one. In nanoseconds.
    public static let debounceWindow: Int64 = 300_000_000
    /// Time that a relay must last for the back-off to begin anew with the shortest delay. In nanoseconds.
    static let stableAfter: Int64 = 30_000_000_000

    public init(id: TaskID, room: RoomID) {
        self.id = id
        self.room = room
        phase = .waiting(after: nil)
        revision = 0
        pending = []
        deadlines = 0
        failedLaunches = 0
    }

    /// Whether a relay process belongs to the task now.
    public var isActive: Bool {
        switch phase {
        case .waiting, .held, .finished: false
        case .starting, .running, .recovering, .ending: true
        }
    }

    /// Whether the task waits without having been refused, so that only a room with outputs can change that.
    public var isAtRest: Bool {
        if case .waiting = phase { refusal == nil } else { false }
    }

    /// Number of consecutive starts of the relay that failed or ended early. It is kept until a relay lasts, or the
    /// task starts anew.
    public var launchesFailed: Int { failedLaunches }
}

// MARK: - Inputs

extension TaskMachine {
    /// The urgency of a change of the room.
    public enum Urgency: Hashable, Sendable {
        /// A participant joined, left or muted. Flapping is damped.
        case debounced
        /// An operator or an API call asked for the change, which always acts at once.
        case immediate
    }

    /// Handles a change of the room, its settings or its layout.
    public mutating func roomChanged(
        _ room: Room, context: PlanningContext, cause: Cause, urgency: Urgency, now: Int64
    ) -> [TaskAction] {
        let room = seen(room)
        if case .held(let user) = phase,
            !context.hasStreams(for: room) || room.streams.contains(where: { $0.user == user })
        {
            phase = .waiting(after: user == nil ? .requested : .hostLeft)
        }
        switch phase {
        case .waiting:
            guard wantsTask(room, context) else {
                forgetRefusal()
                return watchWaiting(room, context, cause)
            }
            return start(room, context, cause)
        case .held, .ending, .finished:
            return []
        case .starting, .running, .recovering:
            if !room.isOpen { return end(.roomClosed, cause) }
            if !ProgramPlanner.hasDestination(room, in: context) { return end(.noOutputs, cause) }
            if urgency == .debounced, let quietUntil, now < quietUntil { return hold(cause, until: quietUntil) }
            return replan(room, context, cause, now)
        }
    }

    /// Acts on a deadline that came due. One that is no longer current changes nothing. `now` is in nanoseconds.
    ///
    /// - Parameter origin: Identifier of the cause of what follows, if the deadline is a cause of its own.
    public mutating func deadlinePassed(
        _ token: DeadlineToken, room: Room, context: PlanningContext, now: Int64, origin: CauseID? = nil
    ) -> [TaskAction] {
        let room = seen(room)
        switch token.kind {
        case .replan:
            guard token.number == replanDeadline else { return [] }
            replanDeadline = nil
            quietUntil = nil
            guard let first = pending.first, isOnAir else { return [] }
            return replan(room, context, first, now)
        case .idle:
            guard token.number == idleDeadline else { return [] }
            idleDeadline = nil
            let summary = "no participant on air for \(idleSeconds(room)) s"
            let cause = Cause(receivedAt: now, summary: summary, id: origin)
            if isOnAir { return end(.idle, cause) }
            guard case .waiting = phase, finishesWhenIdle else { return [] }
            return finish(.idle, cause)
        case .relaunch:
            guard token.number == relaunchDeadline, isOnAir else { return [] }
            relaunchDeadline = nil
            if var plan {
                plan.causedAt = now
                plan.cause = "relay restarted"
                plan.causes = relayCauses
                self.plan = plan
            }
            return launch()
        }
    }

    /// Handles a relay that is connected and has reported its state.
    public mutating func relayConnected(_ status: RelayStatus, now: Int64) -> [TaskAction] {
        guard isOnAir else { return [] }
        let wasRunning = phase == .running
        phase = .running
        lastError = nil
        connectedAt = now
        var actions: [TaskAction] = []
        if !wasRunning {
            let message = "relay \(status.processID) is connected, at plan \(status.revision)"
            actions.append(.record(TimelineEntry(kind: .relay, message: message, causes: relayCauses)))
        }
        // A relay with a newer plan than the store (restored from a backup, for example) would ignore ours.
        if var plan, status.revision > plan.revision {
            revision = status.revision + 1
            plan.revision = revision
            self.plan = plan
            actions.append(.apply(plan))
        }
        return actions
    }

    /// Handles the loss of a relay: its process or its socket is gone, it could not be started, or it does not answer.
    ///
    /// - Parameter origin: Identifier of the cause of what follows.
    public mutating func relayLost(_ reason: String, now: Int64, origin: CauseID? = nil) -> [TaskAction] {
        switch phase {
        case .waiting, .held, .finished:
            return []
        case .ending(let end):
            return ended(end)
        case .starting, .running, .recovering:
            if let connectedAt, now - connectedAt >= Self.stableAfter { failedLaunches = 0 }
            connectedAt = nil
            let delay = Self.backOff(after: failedLaunches)
            failedLaunches += 1
            // A repeated reason (no binary, no permission) is recorded once; `lastError` keeps it.
            let isNews = reason != lastError
            lastError = reason
            if isNews { relayCauses = origin.map { [$0] } }
            if phase != .starting { phase = .recovering }
            let (number, action) = deadline(.relaunch, at: now + delay)
            relaunchDeadline = number
            let message = "relay lost: \(reason); restarting in \(delay / 1_000_000) ms"
            let entry = TimelineEntry(kind: .relay, message: message, causes: relayCauses)
            return (isNews ? [.record(entry)] : []) + [action]
        }
    }

    /// Handles a relay that ended as requested. The owner follows up with `roomChanged`, because participants may be on
    /// air again.
    public mutating func relayDrained() -> [TaskAction] {
        guard case .ending(let reason) = phase else { return [] }
        return ended(reason)
    }

    /// Handles `DELETE /v1/tasks/{id}`.
    public mutating func stopRequested(cause: Cause) -> [TaskAction] {
        if settings != nil { return finish(.requested, cause) }
        return isOnAir ? end(.requested, cause) : []
    }

    /// Resumes the task after a restart of the orchestrator, from its document as stored.
    ///
    /// - Parameter origin: Identifier of the cause of what follows.
    public mutating func restored(
        room: Room, context: PlanningContext, now: Int64, origin: CauseID? = nil
    ) -> [TaskAction] {
        let cause = Cause(receivedAt: now, summary: "orchestrator restarted", id: origin)
        quietUntil = nil
        pending = []
        replanDeadline = nil
        idleDeadline = nil
        relaunchDeadline = nil
        connectedAt = nil
        failedLaunches = 0
        switch phase {
        case .waiting, .held:
            return roomChanged(room, context: context, cause: cause, urgency: .immediate, now: now)
        case .ending:
            return [.drainRelay]
        case .finished:
            return []
        case .starting, .running, .recovering:
            phase = .recovering
            relayCauses = origin.map { [$0] }
            return launch() + roomChanged(room, context: context, cause: cause, urgency: .immediate, now: now)
        }
    }
}
