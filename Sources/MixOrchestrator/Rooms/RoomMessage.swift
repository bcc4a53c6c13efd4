import MixModel

/// What an event did, as the answer counts it.
enum EventOutcome: Hashable, Sendable {
    case accepted, duplicate, stale
}

/// One change in a room owner's mailbox.
enum RoomMessage: Sendable {
    case event(RoomEvent, receivedAt: Int64, Reply<EventOutcome>)
    case settings(RoomSettings, receivedAt: Int64, Reply<Void>)
    case delete(receivedAt: Int64, Reply<Void>)
    case stopTask(receivedAt: Int64, Reply<Bool>)
    case layoutChanged(String, receivedAt: Int64)
    case relay(TaskOwner.Report)

    /// Where the answer goes; answered exactly once.
    struct Reply<Answer: Sendable>: Sendable {
        private let continuation: CheckedContinuation<Result<Answer, OrchestratorError>, Never>

        init(_ continuation: CheckedContinuation<Result<Answer, OrchestratorError>, Never>) {
            self.continuation = continuation
        }

        func answer(_ result: Result<Answer, OrchestratorError>) {
            continuation.resume(returning: result)
        }
    }

}
