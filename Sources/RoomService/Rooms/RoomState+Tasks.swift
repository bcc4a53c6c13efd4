import EventSubscription
import MixModel

/// Decisions about explicit tasks. Pure.
extension RoomState {
    /// Maximum number of explicit tasks of one room that have not ended permanently.
    package static let mostTasks = 16

    /// Looks for an earlier task of the same request. Returns `.same` when one exists, and `nil` when the task may be
    /// made.
    func repeated(_ new: NewTask) throws(OrchestratorError) -> TaskCreation? {
        if let existing = task(new.id)?.machine.document {
            let isSame = new.attachment == nil && existing.wasMade(with: new.settings)
            if isSame, new.isKeyed || !existing.isFinishing { return .same }
            guard existing.isFinished, !new.isKeyed else { throw .taskTaken(new.id, existing, isKeyed: new.isKeyed) }
        }
        let count = tasks.count { $0.machine.document.isExplicit && !$0.machine.document.isFinished }
        guard count < Self.mostTasks else { throw .tooManyTasks(id, Self.mostTasks) }
        return nil
    }

    /// Makes a task for which `repeated` returned `nil`.
    ///
    /// - Parameters:
    ///   - version: Version of the task's settings.
    ///   - madeAt: Time in seconds since 1970.
    /// - Throws: `OrchestratorError` with a `refusal` when the machine has no capacity for the task.
    func making(
        _ new: NewTask, version: Int64, madeAt: Double, _ cause: Cause, _ facts: some PlanningFacts
    ) throws(OrchestratorError) -> RoomDraft {
        var draft = draft(cause: cause.id)
        draft.makesRoom = true
        var machine = TaskMachine(
            id: new.id, room: id, settings: new.settings, version: version,
            revision: task(new.id)?.machine.document.revision ?? 0, attachment: new.attachment)
        machine.madeAt = madeAt
        let planning = context(for: machine, in: draft.room, facts)
        let message =
            planning.hasStreams(for: machine.seen(draft.room))
            ? "task created"
            : new.settings.program?.selections.isEmpty ?? true
                ? "task created, it starts with the room's first stream"
                : "task created, it starts with the first of the streams that it names"
        let actions =
            [.record(TimelineEntry(kind: .decision, message: message, cause: cause.summary))]
            + machine.roomChanged(
                draft.room, context: planning, cause: cause, urgency: .immediate, now: cause.receivedAt)
        if let refusal = machine.refusal { throw .noCapacity(refusal) }
        let task = RoomDraft.Task(machine: machine, actions: actions)
        if let index = draft.tasks.firstIndex(where: { $0.machine.id == new.id }) {
            draft.tasks[index] = task
        } else {
            draft.tasks.append(task)
        }
        return draft
    }

    /// Ends a task by request.
    ///
    /// - Returns: `nil` when there is nothing to stop.
    func stopping(_ task: TaskID, _ cause: Cause) -> RoomDraft? {
        let draft = changing(task, cause.id) { machine, _ in machine.stopRequested(cause: cause) }
        return draft.tasks.contains { !$0.actions.isEmpty } ? draft : nil
    }
}
