/// What the owner of a task has to do after a decision, in this order.
public enum TaskAction: Hashable, Sendable {
    /// Connect to the task's relay; start its process when none is there.
    case launchRelay
    /// Hand the plan to the relay, now or as soon as it is connected.
    case apply(ProgramPlan)
    /// Have the relay try a destination at once that waits or was given up.
    case retryOutput(OutputID)
    /// End the program and the relay's process.
    case drainRelay
    /// Call `TaskMachine.deadlinePassed` with this token at that time (ns of CLOCK_MONOTONIC).
    case scheduleDeadline(DeadlineToken, at: Int64)
    /// Keep for `GET /v1/tasks/{id}/timeline`.
    case record(TimelineEntry)
}

/// Names one deadline. A token whose number is no longer current is ignored when it comes due, so that deadlines never
/// need to be cancelled.
public struct DeadlineToken: Hashable, Codable, Sendable {
    /// What is due.
    public enum Kind: String, Hashable, Codable, Sendable {
        /// Changes held back by the debounce window are planned.
        case replan
        /// Nobody was on air for the room's `maxIdleSeconds`.
        case idle
        /// A relay that was lost is started again.
        case relaunch
    }
    public var kind: Kind
    public var number: Int

    public init(kind: Kind, number: Int) {
        self.kind = kind
        self.number = number
    }
}

/// One line of a task's history.
public struct TimelineEntry: Hashable, Codable, Sendable {
    /// Which step of event → decision → relay → splice → output.
    public enum Kind: String, Hashable, Codable, Sendable {
        /// Something told from outside.
        case event
        /// What the machine made of it.
        case decision
        /// What happened to the relay process or what it reports.
        case relay
        /// A splice on air.
        case splice
        /// What became of a destination.
        case output
    }
    public var kind: Kind
    /// One sentence, without secrets.
    public var message: String
    /// The event or the circumstance that led to it, in words.
    public var cause: String?
    /// Every cause that led to it; `nil` or empty where none is known. Entries with a cause in common are one chain.
    public var causes: [CauseID]?
    /// For entries of kind `event`: which one.
    public var event: EventReference?

    public init(
        kind: Kind, message: String, cause: String? = nil, causes: [CauseID]? = nil, event: EventReference? = nil
    ) {
        self.kind = kind
        self.message = message
        self.cause = cause
        self.causes = causes
        self.event = event
    }
}

/// Why a task ended.
public enum EndReason: String, Hashable, Codable, Sendable {
    /// Nobody was on air for `maxIdleSeconds`.
    case idle
    case roomClosed
    /// By API. An automatic task comes back with the first stream after the room was empty, an explicit one never.
    case requested
    /// The host left and the room's policy is `stop`.
    case hostLeft
    /// The room has no outputs any more.
    case noOutputs
    /// The room of an explicit task was deleted.
    case roomDeleted
    /// Not started: the machine cannot carry it. It starts by itself when there is room.
    case noCapacity
}
