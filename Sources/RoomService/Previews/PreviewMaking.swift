import MixModel

/// Turns encoded media into what operators see and hear.
package protocol PreviewMaking: Sendable {
    /// - Throws: `OrchestratorError` when it cannot be done now.
    func answer(_ request: PreviewRequest) async throws(OrchestratorError) -> PreviewAnswer
}

extension OrchestratorError {
    static func noPreviewNow(_ detail: String) -> OrchestratorError {
        OrchestratorError(
            .unavailable, "preview-unavailable", "There is no preview at the moment", detail: detail, retryAfter: 1)
    }
}
