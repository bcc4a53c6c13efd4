import Synchronization

/// Carries an error past an interface that only knows others.
final class LockedFailure: Sendable {
    private let error = Mutex<CallError?>(nil)

    var kept: CallError? { error.withLock { $0 } }

    /// - Returns: What to throw in its place.
    func keep(_ failure: CallError) -> OrchestratorError {
        error.withLock { $0 = failure }
        return OrchestratorError(.badRequest, "invalid-field", "A parameter cannot be used", detail: failure.message)
    }
}
