import MixModel

/// Refusals of tasks.
extension OrchestratorError {
    /// - Parameter app: App of the caller. For tasks of other apps, the error reveals only that they exist.
    package static func outputTaken(_ conflict: DestinationClaims.Conflict, app: AppID) -> OrchestratorError {
        let isOwn = conflict.holder.app == app
        let holder = isOwn ? "task \(conflict.holder.name)" : "a task of another app"
        let cure = isOwn ? "end that task, remove its output, or choose another URL" : "choose another URL"
        return OrchestratorError(
            .conflict, "output-in-use", "Another task pushes there",
            detail: "output \(conflict.output) has the same destination as \(holder): \(cure). A task keeps "
                + "its destinations until it has ended", field: "outputs")
    }

    /// - Parameter isKeyed: Whether the identifier comes from the request's `Idempotency-Key`.
    static func taskTaken(_ id: TaskID, _ existing: TaskMachine, isKeyed: Bool) -> OrchestratorError {
        if isKeyed {
            return OrchestratorError(
                .conflict, "idempotency-key-reused", "The Idempotency-Key was used for another task",
                detail: "task \(id.name) was created with it from different content: use a new key",
                field: "Idempotency-Key")
        }
        let detail =
            existing.isFinishing
            ? "task \(id.name) is just ending: retry in a moment, or choose another id"
            : "task \(id.name) was created from different content: change it with PATCH /v1/tasks/\(id.name), or choose another id"
        return OrchestratorError(
            .conflict, "task-exists", "The task id is already in use", detail: detail, field: "id")
    }

    static func taskTaken(_ id: TaskID, in room: RoomID) -> OrchestratorError {
        OrchestratorError(
            .conflict, "task-exists", "The task id is already in use",
            detail: "task \(id.name) belongs to room \(room.name): choose another id, or leave it out", field: "id")
    }

    static func tooManyTasks(_ room: RoomID, _ limit: Int) -> OrchestratorError {
        OrchestratorError(
            .conflict, "too-many-tasks", "The room has the maximum number of tasks",
            detail: "\(room.name) has \(limit) explicit tasks: delete one, or add outputs to one")
    }

    static func taskEnded(_ id: TaskID) -> OrchestratorError {
        OrchestratorError(
            .conflict, "task-ended", "The task has ended permanently",
            detail: "\(id.name) can no longer be changed: create a new one with POST /v1/tasks")
    }

    static func lastOutput(_ id: TaskID) -> OrchestratorError {
        OrchestratorError(
            .conflict, "last-output", "A task needs at least one output",
            detail: "first add another output to \(id.name), or end it with DELETE /v1/tasks/\(id.name)",
            field: "outputs")
    }

    static func noCapacity(_ refusal: AdmissionRefusal) -> OrchestratorError {
        var error = OrchestratorError(
            .unavailable, "no-capacity", "The machine has no capacity for another program",
            detail: "\(refusal.figures): end a task, retry later, or raise admission.cores",
            retryAfter: refusal.retryAfter)
        error.refusal = refusal
        return error
    }
}
