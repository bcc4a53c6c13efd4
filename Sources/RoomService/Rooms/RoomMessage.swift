import MixModel

/// The effect of an event, as reported in the answer.
package enum EventOutcome: String, Hashable, Codable, Sendable {
    case accepted, duplicate, stale
}

/// The result of an event.
package struct EventReceipt: Sendable {
    package var outcome: EventOutcome
    /// A note for the person who sent the event, in words; `nil` = none. Contains no secret.
    package var note: String?
}

/// A request for an explicit task.
package struct NewTask: Sendable {
    package var id: TaskID
    package var settings: RoomSettings
    /// Whether the identifier comes from the request's `Idempotency-Key`. The same request then never creates a new
    /// task, not even after the first one has ended.
    var isKeyed = false
    /// Text that the task's creator attaches to it. A request with an attachment never counts as a repetition.
    package var attachment: String?

    package init(id: TaskID, settings: RoomSettings, isKeyed: Bool = false, attachment: String? = nil) {
        self.id = id
        self.settings = settings
        self.isKeyed = isKeyed
        self.attachment = attachment
    }
}

/// The outcome of a request for a task.
package enum TaskCreation: Hashable, Sendable {
    case made
    /// The task exists, because the same request was made before.
    case same
}

/// A change of the settings of a room or of an explicit task. The new settings are computed when its turn comes.
package struct SettingsChange: Sendable {
    /// The task to change; `nil` = the room.
    package var task: TaskID?
    var precondition = SettingsPrecondition.none
    /// Summary for timelines.
    package var summary: String
    /// Computes the new settings.
    ///
    /// - Parameter outputs: Current outputs of the program: its own, or the configured ones.
    /// - Returns: The new settings.
    var apply:
        @Sendable (_ settings: RoomSettings, _ outputs: [PushDestination]) throws(OrchestratorError) -> RoomSettings
    /// Replaces `apply` for a task with an attachment.
    var revise: Revision?
    /// Whether an explicit task may end up without outputs. It is then off the air until it gets one.
    package var mayLeaveNoOutput = false

    package init(
        task: TaskID? = nil, precondition: SettingsPrecondition = SettingsPrecondition.none, summary: String,
        apply:
            @escaping @Sendable (_ settings: RoomSettings, _ outputs: [PushDestination]) throws(OrchestratorError) ->
            RoomSettings,
        revise: Revision? = nil
    ) {
        self.task = task
        self.precondition = precondition
        self.summary = summary
        self.apply = apply
        self.revise = revise
    }

    /// Computes the new settings and the new attachment of a task from the current ones.
    package typealias Revision =
        @Sendable (RoomSettings, _ attachment: String?) throws(OrchestratorError) -> (RoomSettings, attachment: String)
}

extension SettingsChange {
    package init(task: TaskID, summary: String, revise: @escaping Revision) {
        self.init(task: task, summary: summary, apply: { settings, _ in settings }, revise: revise)
    }
}

/// The outcome of a change of settings.
package struct SettingsOutcome: Hashable, Sendable {
    /// Whether the room did not exist before.
    package var isNew: Bool
    /// Whether the settings were already as requested.
    package var isUnchanged: Bool
    /// Tag of the current settings.
    package var tag: SettingsTag
}

/// One change in a room owner's mailbox.
enum RoomMessage: Sendable {
    case event(RoomEvent, receivedAt: Int64, Reply<EventReceipt>)
    /// An `event` of a stream at an ingest. The path is that of the stream's URL.
    indirect case stream(RoomEvent, path: String, StreamTurn, receivedAt: Int64, Reply<StreamReceipt>)
    case make(NewTask, receivedAt: Int64, Reply<TaskCreation>)
    case settings(SettingsChange, receivedAt: Int64, Reply<SettingsOutcome>)
    case delete(receivedAt: Int64, Reply<Void>)
    /// A `delete` that has an effect only if the room is empty and has no settings.
    case forget(receivedAt: Int64, Reply<Bool>)
    case control(UserID, ParticipantControlChange, receivedAt: Int64, Reply<Void>)
    case stopTask(TaskID, receivedAt: Int64, Reply<Bool>)
    /// The layout of the room, or of one of its tasks, has changed. The owner keeps the cause.
    case layoutChanged
    /// An entry for the timelines of the tasks that use a layout.
    case layoutNote(String, TimelineEntry)
    /// An image of a layout cannot be shown. `Layouts` knows which one.
    case imagesOfLayoutsFailed
    /// An image, or another room whose streams are used, has changed. The owner keeps the cause.
    case needsChanged
    /// The values that layouts show have changed.
    case valuesChanged
    /// An entry for the timelines of the active tasks.
    case note(TimelineEntry)
    /// An entry for the timelines of the tasks that show an image.
    case imageNote(String, TimelineEntry)
    /// Indirect, because it is by far the largest case, and messages are moved often.
    indirect case relay(TaskID, RelaySupervisor.Report)
    /// State that has been kept for a while may have expired.
    case tidy
    /// No message is expected soon; `run` may end. The loop itself handles it.
    case fold
    /// The machine's load requires another plan, or allows a task to start. The text is the reason.
    case loadChanged(String)
}
