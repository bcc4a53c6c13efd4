import RoomService
import Synchronization

/// Carries a `CallError` through an interface that only throws `OrchestratorError`. Thread-safe.
final class LockedFailure: Sendable {
    private let error = Mutex<CallError?>(nil)

    var kept: CallError? { error.withLock { $0 } }

    /// Keeps an error.
    ///
    /// - Returns: The error to throw in its place.
    func keep(_ failure: CallError) -> OrchestratorError {
        error.withLock { $0 = failure }
        return OrchestratorError(.malformed, "invalid-field", "A parameter is invalid", detail: failure.message)
    }
}
