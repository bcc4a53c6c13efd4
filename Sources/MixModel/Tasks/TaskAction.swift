/// An action that the owner of a task must perform after a decision. The order of actions matters.
public enum TaskAction: Hashable, Sendable {
    /// Connects to the task's relay, and starts its process if there is none.
    case launchRelay
    /// Makes the relay continue the timestamps of a relay on another machine.
    case resume(ProgramPlace)
    /// Makes the relay stop at its next keyframe, because another node continues the program.
    case standBy
    /// Hands the plan to the relay, now or as soon as it is connected.
    case apply(ProgramPlan)
    /// Makes the relay immediately retry a destination that is waiting or was given up.
    case retryOutput(OutputID)
    /// Ends the program and the relay's process.
    case drainRelay
    /// Calls `TaskMachine.deadlinePassed` with this token at that time (nanoseconds of CLOCK_MONOTONIC).
    case scheduleDeadline(DeadlineToken, at: Int64)
    /// Keeps an entry for `GET /v1/tasks/{id}/timeline`.
    case record(TimelineEntry)
}

/// An identifier of one deadline. A token whose number is no longer current is ignored when it comes due, so that
/// deadlines never need to be cancelled.
public struct DeadlineToken: Hashable, Codable, Sendable {
    /// The kind of a deadline.
    public enum Kind: String, Hashable, Codable, Sendable {
        /// Planning of the changes that the debounce window held back.
        case replan
        /// End of the room's `maxIdleSeconds` with no participant on air.
        case idle
        /// Restart of a relay that was lost.
        case relaunch
        /// Scheduled start or end of an explicit task.
        case schedule
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
    /// A step of the chain event → decision → relay → splice → output.
    public enum Kind: String, Hashable, Codable, Sendable {
        /// An event reported from outside.
        case event
        /// A decision of the machine.
        case decision
        /// A change of the relay's process, or a report of the relay.
        case relay
        /// A splice on air.
        case splice
        /// A change in the state of a destination.
        case output
    }
    public var kind: Kind
    /// One sentence, without secrets.
    public var message: String
    /// Event or circumstance that led to the entry, in words.
    public var cause: String?
    /// All causes that led to the entry; `nil` or empty if none is known. Entries with a cause in common form one
    /// chain.
    public var causes: [CauseID]?
    /// Event, for entries of kind `event`.
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

/// The reason why a task ended.
public enum EndReason: String, Hashable, Codable, Sendable {
    /// No participant was on air for `maxIdleSeconds`.
    case idle
    case roomClosed
    /// Ended through the API. An automatic task comes back with the first stream after the room was empty, an explicit
    /// one never.
    case requested
    /// The host left and the room's policy is `stop`.
    case hostLeft
    /// The room no longer has any outputs.
    case noOutputs
    /// The room of an explicit task was deleted.
    case roomDeleted
    /// Not started, because the machine cannot carry the task. It starts automatically when there is capacity.
    case noCapacity
    /// The scheduled end (`TaskSchedule.endsAt`) has come.
    case scheduled
}
