import MixModel

/// Turns encoded media into pictures and levels for operators.
package protocol PreviewMaking: Sendable {
    /// - Throws: `OrchestratorError` when this is currently not possible.
    func answer(_ request: PreviewRequest) async throws(OrchestratorError) -> PreviewAnswer
}

extension OrchestratorError {
    static func noPreviewNow(_ detail: String) -> OrchestratorError {
        OrchestratorError(
            .unavailable, "preview-unavailable", "There is no preview at the moment", detail: detail, retryAfter: 1)
    }
}
