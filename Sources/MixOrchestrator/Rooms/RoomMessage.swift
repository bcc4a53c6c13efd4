import MixModel

/// What an event did, as the answer counts it.
enum EventOutcome: String, Hashable, Sendable {
    case accepted, duplicate, stale
}

/// An explicit task that is asked for.
struct NewTask: Sendable {
    var id: TaskID
    var settings: RoomSettings
    /// The id comes from the request's `Idempotency-Key`: the same request is never a new task, not even when the first
    /// one has ended.
    var isKeyed = false
    /// What its maker keeps with it. Such a request is never the same as one before.
    var attachment: String?
}

/// What became of a request for a task.
enum TaskCreation: Hashable, Sendable {
    case made
    /// It was there: the same request came before.
    case same
}

/// A change of the settings of a room or of an explicit task, worked out when its turn comes.
struct SettingsChange: Sendable {
    /// `nil` = the room's.
    var task: TaskID?
    var precondition = SettingsPrecondition.none
    /// For timelines.
    var summary: String
    /// - Parameter outputs: Where the program goes now: its own outputs or the configured ones.
    /// - Returns: The new settings.
    var apply:
        @Sendable (_ settings: RoomSettings, _ outputs: [PlannedOutput]) throws(OrchestratorError) -> RoomSettings
    /// In place of `apply`, for a task whose maker keeps something with it.
    var revise: Revision?

    /// The settings of a task and what its maker keeps with it: as they are in, as they shall be out.
    typealias Revision =
        @Sendable (RoomSettings, _ attachment: String?) throws(OrchestratorError) -> (RoomSettings, attachment: String)
}

extension SettingsChange {
    init(task: TaskID, summary: String, revise: @escaping Revision) {
        self.init(task: task, summary: summary, apply: { settings, _ in settings }, revise: revise)
    }
}

/// What became of a change of settings.
struct SettingsOutcome: Hashable, Sendable {
    /// The room was not there before.
    var isNew: Bool
    /// The settings were as asked for already.
    var isUnchanged: Bool
    /// Of the settings now.
    var tag: SettingsTag
}

/// One change in a room owner's mailbox.
enum RoomMessage: Sendable {
    case event(RoomEvent, receivedAt: Int64, Reply<EventOutcome>)
    case make(NewTask, receivedAt: Int64, Reply<TaskCreation>)
    case settings(SettingsChange, receivedAt: Int64, Reply<SettingsOutcome>)
    case delete(receivedAt: Int64, Reply<Void>)
    /// As `delete`, if nobody is there and nothing was asked for the room.
    case forget(receivedAt: Int64, Reply<Bool>)
    case stopTask(TaskID, receivedAt: Int64, Reply<Bool>)
    /// The layout of the room, or of one of its tasks, is another one; what to take up waits in the owner.
    case layoutChanged
    /// Something to be told in the timelines of the tasks that use a layout.
    case layoutNote(String, TimelineEntry)
    /// Another room that streams are taken from, or an image, is different; what to take up waits in the owner.
    case needsChanged
    /// Something to be told in the timelines of the tasks that show an image.
    case imageNote(String, TimelineEntry)
    /// Apart from the others in memory: it is the largest by far, and every message is moved about.
    indirect case relay(TaskID, TaskOwner.Report)
    /// What is kept for a while may be over.
    case tidy
    /// Nothing is likely to happen soon; taken by the loop itself.
    case fold
    /// The machine's load asks something else of the tasks, or lets one start; why, in words.
    case loadChanged(String)
}

/// Where the answer to a message goes; answered exactly once.
struct Reply<Answer: Sendable>: Sendable {
    private let continuation: CheckedContinuation<Result<Answer, OrchestratorError>, Never>

    init(_ continuation: CheckedContinuation<Result<Answer, OrchestratorError>, Never>) {
        self.continuation = continuation
    }

    func answer(_ result: Result<Answer, OrchestratorError>) {
        continuation.resume(returning: result)
    }
}
