import MixModel

/// What an event did, as the answer counts it.
enum EventOutcome: String, Hashable, Sendable {
    case accepted, duplicate, stale
}

/// One change in a room owner's mailbox.
enum RoomMessage: Sendable {
    case event(RoomEvent, receivedAt: Int64, Reply<EventOutcome>)
    case settings(RoomSettings, receivedAt: Int64, Reply<Void>)
    case delete(receivedAt: Int64, Reply<Void>)
    case stopTask(receivedAt: Int64, Reply<Bool>)
    /// The room's layout is another one; what to take up waits in the owner.
    case layoutChanged
    /// Something to be told in the timelines of the rooms that use a layout.
    case layoutNote(String, TimelineEntry)
    case relay(TaskOwner.Report)
    /// The machine's load asks something else of the task, or lets it start; why, in words.
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
