import MixModel

/// Refusals of tasks.
extension OrchestratorError {
    /// - Parameter app: App of the caller. About tasks of other apps the answer says only that they exist.
    package static func outputTaken(_ conflict: OutputLedger.Conflict, app: AppID) -> OrchestratorError {
        let isOwn = conflict.holder.app == app
        let holder = isOwn ? "task \(conflict.holder.name)" : "a task of another app"
        let cure = isOwn ? "end that task, remove its output, or choose another URL" : "choose another URL"
        return OrchestratorError(
            .conflict, "output-in-use", "Another task pushes there",
            detail: "output \(conflict.output) has the same destination as \(holder): \(cure). A task keeps "
                + "its destinations until it has ended", field: "outputs")
    }

    static func noCapacity(_ refusal: AdmissionRefusal) -> OrchestratorError {
        var error = OrchestratorError(
            .unavailable, "no-capacity", "The machine has no capacity for another program",
            detail: "\(refusal): end a task, retry later, or raise admission.cores",
            retryAfter: refusal.retryAfter)
        error.refusal = refusal
        return error
    }
}
