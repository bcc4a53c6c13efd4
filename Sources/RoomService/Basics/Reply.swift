/// The continuation that receives a message's answer. It must be answered exactly once.
package struct Reply<Answer: Sendable>: Sendable {
    private let continuation: CheckedContinuation<Result<Answer, OrchestratorError>, Never>

    init(_ continuation: CheckedContinuation<Result<Answer, OrchestratorError>, Never>) {
        self.continuation = continuation
    }

    package func answer(_ result: Result<Answer, OrchestratorError>) {
        continuation.resume(returning: result)
    }
}
