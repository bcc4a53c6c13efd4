/// Decides what a room's task does. Pure: rooms, reports and passed deadlines in, actions out.
///
/// The value is the task's document in the store. Points in time are ns of CLOCK_MONOTONIC and are worth nothing after a
/// restart of the machine: `restored` replaces them.
public struct TaskMachine: Hashable, Codable, Sendable {
    public let id: TaskID
    public let room: RoomID
    /// What an explicit task was made with, in place of its room's; `nil` = automatic.
    @Boxed public internal(set) var settings: RoomSettings?
    /// Names these settings, as `Room.settingsVersion`.
    public internal(set) var settingsVersion: Int64?
    /// What an explicit task was asked for at first, once it was changed: the same request again is answered with it.
    @Boxed var firstSettings: RoomSettings?
    /// What whoever made the task keeps with it, opaque here; bounded by them. May hold secrets.
    public internal(set) var attachment: String?
    /// Whether the room was open since the task was made; a task may be made for a room that is closed.
    var sawOpenRoom: Bool?
    /// When an explicit task was made, in seconds since 1970; set by the owner.
    public var madeAt: Double?
    /// When the task was found to have ended for good, in seconds since 1970; set by the owner.
    public var finishedAt: Double?
    public internal(set) var phase: Phase
    /// The plan in force; `nil` before the first and after the end.
    @Boxed public internal(set) var plan: ProgramPlan?
    /// Of the last plan ever made; never goes back, not even when the task ends and starts again.
    public internal(set) var revision: Int
    /// The host of the program so far.
    public internal(set) var host: UserID?
    /// What the plan in force was made of, so that a restart of the service makes the same; `nil` before the first.
    public internal(set) var sourceFacts: SourceFacts?
    /// What went wrong with the relay last; cleared when it is back.
    public internal(set) var lastError: String?
    /// Why it does not run, while it waits for room on the machine.
    public internal(set) var refusal: AdmissionRefusal?

    /// Until when changes are held back; `nil` = the next change acts at once.
    var quietUntil: Int64?
    /// Causes held back by the debounce window, oldest first.
    var pending: [Cause]
    /// Number of the last deadline scheduled of each kind, or `nil` when none is awaited.
    var replanDeadline: Int?
    var idleDeadline: Int?
    var relaunchDeadline: Int?
    var deadlines: Int
    /// Starts of the relay that failed, or ended early, one after another.
    var failedLaunches: Int
    /// When the relay was connected last.
    var connectedAt: Int64?
    /// What the relay was launched, or told to end, for.
    var relayCauses: [CauseID]?

    /// Where the task is between two events.
    public enum Phase: Hashable, Codable, Sendable {
        /// No relay is wanted: the room has no stream or no outputs yet, or the task ended.
        case waiting(after: EndReason?)
        /// Ended although people are on air: waits until the room is empty, or until this user publishes.
        case held(until: UserID?)
        /// The relay is being started for the first time.
        case starting
        case running
        /// The relay was lost and is started again.
        case recovering
        /// The relay is being drained.
        case ending(EndReason)
        /// An explicit task that was deleted, or whose room was: never starts again.
        case finished(EndReason)
    }

    /// Changes within this time after one that acted are merged into one, in ns.
    public static let debounceWindow: Int64 = 300_000_000
    /// A relay that lasted this long starts with the shortest back-off again, in ns.
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

    /// Waits, and has been refused nothing: only a room with outputs can change that.
    public var isAtRest: Bool {
        if case .waiting = phase { refusal == nil } else { false }
    }

    /// Launches that failed one after another; 0 while the relay is there.
    public var launchesFailed: Int { failedLaunches }
}

// MARK: - Inputs

extension TaskMachine {
    /// How soon a change of the room has to show.
    public enum Urgency: Hashable, Sendable {
        /// Somebody joined, left, muted: flapping is damped.
        case debounced
        /// An operator or an API call asked for it: at once, always.
        case immediate
    }

    /// The room, its settings or its layout changed.
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

    /// Acts on a deadline that came due; one that is no longer current changes nothing. `now` in ns.
    ///
    /// - Parameter origin: Names what follows of it, where it is a cause of its own.
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
            let summary = "nobody was on air for \(idleSeconds(room)) s"
            let cause = Cause(receivedAt: now, summary: summary, id: origin)
            if isOnAir { return end(.idle, cause) }
            guard case .waiting = phase, finishesWhenIdle else { return [] }
            return finish(.idle, cause)
        case .relaunch:
            guard token.number == relaunchDeadline, isOnAir else { return [] }
            relaunchDeadline = nil
            if var plan {
                plan.causedAt = now
                plan.cause = "relay started again"
                plan.causes = relayCauses
                self.plan = plan
            }
            return launch()
        }
    }

    /// The relay is connected and told its state.
    public mutating func relayConnected(_ status: RelayStatus, now: Int64) -> [TaskAction] {
        guard isOnAir else { return [] }
        let wasRunning = phase == .running
        phase = .running
        lastError = nil
        connectedAt = now
        var actions: [TaskAction] = []
        if !wasRunning {
            let message = "relay \(status.processID) is connected, its plan is \(status.revision)"
            actions.append(.record(TimelineEntry(kind: .relay, message: message, causes: relayCauses)))
        }
        // A relay that has a newer plan than the store (which was restored from a backup, say) would ignore ours.
        if var plan, status.revision > plan.revision {
            revision = status.revision + 1
            plan.revision = revision
            self.plan = plan
            actions.append(.apply(plan))
        }
        return actions
    }

    /// The relay's process or its socket is gone, could not be started, or does not answer.
    ///
    /// - Parameter origin: Names what follows of it.
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
            // The same reason again and again (no binary, no rights) is told once; `lastError` keeps it.
            let isNews = reason != lastError
            lastError = reason
            if isNews { relayCauses = origin.map { [$0] } }
            if phase != .starting { phase = .recovering }
            let (number, action) = deadline(.relaunch, at: now + delay)
            relaunchDeadline = number
            let message = "relay lost: \(reason); started again in \(delay / 1_000_000) ms"
            let entry = TimelineEntry(kind: .relay, message: message, causes: relayCauses)
            return (isNews ? [.record(entry)] : []) + [action]
        }
    }

    /// The relay ended as it was asked to. The owner follows it with `roomChanged`: people may be on air again.
    public mutating func relayDrained() -> [TaskAction] {
        guard case .ending(let reason) = phase else { return [] }
        return ended(reason)
    }

    /// `DELETE /v1/tasks/{id}`.
    public mutating func stopRequested(cause: Cause) -> [TaskAction] {
        if settings != nil { return finish(.requested, cause) }
        return isOnAir ? end(.requested, cause) : []
    }

    /// After a restart of the orchestrator, with the document as it was stored.
    ///
    /// - Parameter origin: Names what follows of it.
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
