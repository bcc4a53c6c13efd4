/// Decides the actions of a room's task. Pure: rooms, reports and passed deadlines in, actions out.
///
/// Each state carries its associated data; the properties here outlive the states. The store keeps the value as a flat
/// document. Points in time are nanoseconds of CLOCK_MONOTONIC, which are meaningless after a reboot: `restored`
/// replaces them.
public struct TaskMachine: Hashable, Sendable {
    public let id: TaskID
    public let room: RoomID
    var origin: Origin
    var state: State
    /// Revision of the last plan ever made. It never decreases, not even when the task ends and starts again.
    public internal(set) var revision: Int
    /// Facts about sources on which the last plan is based, so that a restarted service makes the same plan; `nil`
    /// before the first plan. The next program starts with them.
    public internal(set) var sourceFacts: SourceFacts?
    /// Number of the last deadline scheduled.
    var deadlines: Int
    /// Deadline of the schedule that is awaited. It is not stored, because no deadline outlives a process.
    var scheduled: ScheduledDeadline?

    /// Time after a change took effect within which further changes are merged into one. In nanoseconds.
    public static let debounceWindow = Debounce.window

    init(
        id: TaskID, room: RoomID, origin: Origin, state: State, revision: Int = 0, sourceFacts: SourceFacts? = nil,
        deadlines: Int = 0
    ) {
        self.id = id
        self.room = room
        self.origin = origin
        self.state = state
        self.revision = revision
        self.sourceFacts = sourceFacts
        self.deadlines = deadlines
    }

    /// Creates the task that a room gets automatically.
    public init(id: TaskID, room: RoomID) {
        self.init(id: id, room: room, origin: .automatic, state: .waiting(Waiting()))
    }
}

// MARK: - Inputs

extension TaskMachine {
    /// The urgency of a change of the room.
    public enum Urgency: Hashable, Sendable {
        /// A participant joined, left or muted. Flapping is damped.
        case debounced
        /// An operator or an API call requested the change, which always takes effect at once.
        case immediate
    }

    /// Handles a change of the room, its settings or its layout.
    public mutating func roomChanged(
        _ room: Room, context: PlanningContext, cause: Cause, urgency: Urgency, now: Int64
    ) -> [TaskAction] {
        if let actions = endOnSchedule(context, cause) { return actions }
        let actions = decide(seen(room), context, cause, urgency, now)
        return actions + watchSchedule(context, now)
    }

    private mutating func decide(
        _ room: Room, _ context: PlanningContext, _ cause: Cause, _ urgency: Urgency, _ now: Int64
    ) -> [TaskAction] {
        if case .held(let held) = state, let waiting = released(held, room, context) { state = .waiting(waiting) }
        switch state {
        case .waiting(let waiting):
            guard wantsTask(room, context) else { return watch(waiting, room, context, cause) }
            return start(waiting, room, context, cause)
        case .held, .ending, .finished:
            return []
        case .onAir(var onAir):
            if !room.isOpen { return end(onAir, .roomClosed, cause) }
            if !ProgramPlanner.hasDestination(room, in: context) { return end(onAir, .noOutputs, cause) }
            if urgency == .debounced, let time = onAir.debounce.end(at: now) { return hold(onAir, cause, until: time) }
            let held = onAir.debounce.release()
            return replan(onAir, room, context, cause, held: held, now)
        }
    }

    /// Handles a deadline that came due. A deadline that is no longer current changes nothing. `now` is in nanoseconds.
    ///
    /// - Parameter origin: Identifier of the cause of the consequences, if the deadline is itself a cause.
    public mutating func deadlinePassed(
        _ token: DeadlineToken, room: Room, context: PlanningContext, now: Int64, origin: CauseID? = nil
    ) -> [TaskAction] {
        let room = seen(room)
        switch token.kind {
        case .replan:
            guard case .onAir(var onAir) = state, let held = onAir.debounce.pass(deadline: token.number),
                let first = held.first
            else { return [] }
            return replan(onAir, room, context, first, held: held, now)
        case .idle:
            // A stream that has come since is planned at the end of the debounce window.
            if case .onAir(var onAir) = state, onAir.idleDeadline == token.number, !isIdle(room, context) {
                onAir.idleDeadline = nil
                state = .onAir(onAir)
                return []
            }
            let summary = "no participant on air for \(idleSeconds(room)) s"
            return idled(token.number, Cause(receivedAt: now, summary: summary, id: origin))
        case .schedule:
            return scheduleReached(token.number, room, context, now, origin)
        case .relaunch:
            guard case .onAir(var onAir) = state, token.number == onAir.launches.deadline else { return [] }
            onAir.launches.deadline = nil
            if var program = onAir.program {
                program.plan.causedAt = now
                program.plan.cause = "relay restarted"
                program.plan.causes = onAir.launches.record.causes
                onAir.program = program
            }
            state = .onAir(onAir)
            return onAir.launch
        }
    }

    /// Handles `DELETE /v1/tasks/{id}`.
    public mutating func stopRequested(cause: Cause) -> [TaskAction] {
        if isExplicit { return finish(.requested, cause) }
        guard case .onAir(let onAir) = state else { return [] }
        return end(onAir, .requested, cause)
    }

    /// Resumes the task after a restart of the orchestrator, from its stored document.
    ///
    /// - Parameter origin: Identifier of the cause of the consequences.
    public mutating func restored(
        room: Room, context: PlanningContext, now: Int64, origin: CauseID? = nil
    ) -> [TaskAction] {
        state.restart(origin: origin)
        scheduled = nil
        let launch: [TaskAction]
        switch state {
        case .waiting, .held: launch = []
        case .onAir(let onAir): launch = onAir.launch
        case .ending: return [.drainRelay]
        case .finished: return []
        }
        let cause = Cause(receivedAt: now, summary: "orchestrator restarted", id: origin)
        return launch + roomChanged(room, context: context, cause: cause, urgency: .immediate, now: now)
    }
}
