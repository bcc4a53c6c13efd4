import MixModel
import TaskStore

/// Explicit tasks, and settings.
extension RoomOwner {
    func make(_ new: NewTask, _ receivedAt: Int64) async -> Result<TaskCreation, OrchestratorError> {
        let existing = task(new.id)?.machine.document
        if let existing {
            let isSame = new.attachment == nil && existing.wasMade(with: new.settings)
            if isSame, new.isKeyed || !existing.isFinishing { return .success(.same) }
            guard existing.isFinished, !new.isKeyed else { return .failure(Self.taken(new.id, existing, new.isKeyed)) }
        }
        let count = tasks.count { $0.machine.document.isExplicit && !$0.machine.document.isFinished }
        guard count < Self.mostTasks else { return .failure(Self.tooManyTasks(id)) }
        if let other = services.taskIndex.claim(new.id, for: id), other != id {
            return .failure(Self.taken(new.id, in: other))
        }
        defer { if task(new.id) == nil { services.taskIndex.release(new.id) } }
        let outputs = new.settings.outputs ?? []
        if let conflict = services.outputs.claim(outputs, for: new.id) {
            return .failure(.outputTaken(conflict, app: id.app))
        }
        var isMade = false
        defer { if !isMade { releaseUnused(new.id) } }
        await prepare(for: new.settings.program)

        let cause = Cause(receivedAt: receivedAt, summary: "task created by API", id: services.numbers.nextCause())
        var draft = draft(cause: cause.id)
        draft.makesRoom = true
        var machine = TaskMachine(
            id: new.id, room: id, settings: new.settings, version: services.numbers.next(),
            revision: existing?.revision ?? 0, attachment: new.attachment)
        machine.madeAt = wallClock()
        let planning = context(for: machine, in: draft.room)
        let message =
            planning.hasStreams(for: machine.seen(draft.room))
            ? "task created"
            : new.settings.program?.selections.isEmpty ?? true
                ? "task created, it starts with the room's first stream"
                : "task created, it starts with the first of the streams that it names"
        let actions =
            [.record(TimelineEntry(kind: .decision, message: message, cause: cause.summary))]
            + machine.roomChanged(
                draft.room, context: planning, cause: cause, urgency: .immediate, now: receivedAt)
        if let refusal = machine.refusal {
            services.load.noteRefusal()
            return .failure(.noCapacity(refusal))
        }
        let task = RoomDraft.Task(machine: machine, actions: actions)
        if let index = draft.tasks.firstIndex(where: { $0.machine.id == new.id }) {
            draft.tasks[index] = task
        } else {
            draft.tasks.append(task)
        }
        return await store(draft).map { _ in
            isMade = true
            return .made
        }
    }

    func stopTask(_ task: TaskID, _ receivedAt: Int64) async -> Result<Bool, OrchestratorError> {
        let cause = Cause(
            receivedAt: receivedAt, summary: "task deleted by API", id: services.numbers.nextCause())
        var draft = draft(cause: cause.id)
        draft.changeTask(task) { machine, _ in machine.stopRequested(cause: cause) }
        guard draft.tasks.contains(where: { !$0.actions.isEmpty }) else { return .success(false) }
        return await store(draft).map { _ in true }
    }

    func change(
        _ change: SettingsChange, _ receivedAt: Int64
    ) async -> Result<SettingsOutcome, OrchestratorError> {
        do throws(OrchestratorError) {
            return .success(try await perform(change, receivedAt))
        } catch {
            return .failure(error)
        }
    }

    private func perform(
        _ change: SettingsChange, _ receivedAt: Int64
    ) async throws(OrchestratorError) -> SettingsOutcome {
        let holder = change.task ?? tasks[0].id
        let explicit = change.task.flatMap(task)?.machine.document
        if let task = change.task, explicit?.isFinishing != false { throw Self.ended(task) }
        let isThere = explicit != nil || room.version > 0
        let version = explicit?.settingsVersion ?? room.document.settingsVersion
        try change.precondition.check(change.task?.name ?? id.name, isThere ? SettingsTag(version) : nil)

        let seen = explicit?.seen(room.document) ?? room.document
        let effective = services.outputs(of: seen)
        var (settings, attachment) = (seen.settings, explicit?.attachment)
        if let revise = change.revise {
            (settings, attachment) = try revise(seen.settings, attachment)
        } else {
            settings = try change.apply(seen.settings, effective)
        }
        guard settings != seen.settings || attachment != explicit?.attachment || !isThere else {
            return SettingsOutcome(isNew: false, isUnchanged: true, tag: SettingsTag(version))
        }
        if explicit != nil, settings.outputs?.isEmpty != false { throw Self.lastOutput(holder) }
        if let outputs = settings.outputs, let conflict = services.outputs.claim(outputs, for: holder) {
            throw .outputTaken(conflict, app: id.app)
        }
        var isStored = false
        defer { if !isStored { releaseUnused(holder) } }
        await prepare(for: settings.program)

        let cause = Cause(receivedAt: receivedAt, summary: change.summary, id: services.numbers.nextCause())
        let newVersion = services.numbers.next()
        var draft = draft(cause: cause.id)
        draft.makesRoom = explicit == nil
        if explicit == nil {
            draft.room.settings = settings
            draft.room.settingsVersion = newVersion
            roomChanged(&draft, cause, .immediate, now: receivedAt)
        } else {
            draft.changeTask(holder) { machine, room in
                machine.change(to: settings, version: newVersion, attachment: attachment)
                return machine.roomChanged(
                    room, context: context(for: machine, in: room), cause: cause, urgency: .immediate,
                    now: receivedAt)
            }
        }
        _ = try await store(draft).get()
        isStored = true
        return SettingsOutcome(isNew: !isThere, isUnchanged: false, tag: SettingsTag(newVersion))
    }

    /// Gives back the destinations that were claimed for a change that was not stored.
    private func releaseUnused(_ id: TaskID) {
        if let index = tasks.firstIndex(where: { $0.id == id }) { tasks[index].claim = nil }
        holdOutputs(of: id)
    }

    // MARK: Refusals

    private static func taken(_ id: TaskID, _ existing: TaskMachine, _ isKeyed: Bool) -> OrchestratorError {
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

    private static func taken(_ id: TaskID, in room: RoomID) -> OrchestratorError {
        OrchestratorError(
            .conflict, "task-exists", "The task id is already in use",
            detail: "task \(id.name) belongs to room \(room.name): choose another id, or leave it out", field: "id")
    }

    private static func tooManyTasks(_ room: RoomID) -> OrchestratorError {
        OrchestratorError(
            .conflict, "too-many-tasks", "The room has the maximum number of tasks",
            detail: "\(room.name) has \(mostTasks) explicit tasks: delete one, or add outputs to one")
    }

    static func ended(_ id: TaskID) -> OrchestratorError {
        OrchestratorError(
            .conflict, "task-ended", "The task has ended permanently",
            detail: "\(id.name) can no longer be changed: create a new one with POST /v1/tasks")
    }

    private static func lastOutput(_ id: TaskID) -> OrchestratorError {
        OrchestratorError(
            .conflict, "last-output", "A task needs at least one output",
            detail: "first add another output to \(id.name), or end it with DELETE /v1/tasks/\(id.name)",
            field: "outputs")
    }
}
