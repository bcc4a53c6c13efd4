import EventSubscription
import MixModel

/// Decisions about a room and its tasks. Pure: each returns a draft, which is not yet stored or performed. The current
/// time is that of the cause.
extension RoomState {
    /// Returns a draft with the room and its tasks unchanged.
    func draft(cause: CauseID?) -> RoomDraft {
        RoomDraft(
            room: room.document, tasks: tasks.map { RoomDraft.Task(machine: $0.machine.document) }, cause: cause)
    }

    /// Applies an event.
    func applying(
        _ event: RoomEvent, _ cause: Cause, _ facts: some PlanningFacts
    ) -> (draft: RoomDraft, outcome: RoomMachine.Outcome) {
        var draft = draft(cause: cause.id)
        draft.event = event
        draft.makesRoom = true
        let outcome = RoomMachine.apply(event, to: &draft.room)
        if outcome == .changed { replan(&draft, cause, .debounced, facts) }
        return (draft, outcome)
    }

    /// Returns a note for the sender of a stored event; `nil` if there is nothing to note.
    func note(on event: RoomEvent, _ outcome: RoomMachine.Outcome, _ facts: some PlanningFacts) -> String? {
        switch (event.kind, outcome) {
        case (.streamUnpublished(let user, let stream, _), .unchanged):
            "\(user)/\(stream.rawValue) is not published in this room: nothing has changed"
        case (.streamUpdated(let update), .unchanged) where room.document.participant(update.user) == nil:
            "\(update.user) is not in this room: nothing has changed"
        case (.participantLeft(let user), .unchanged):
            "\(user) is not in this room: nothing has changed"
        case (.streamPublished, .changed) where facts.outputs(of: room.document).isEmpty:
            facts.hasDestination(room.document)
                ? "the room has no RTMP output: its program is at \(room.document.id.livePath).flv"
                : "the room has no output, and therefore no program: PUT /v1/rooms/\(room.document.id.name) with outputs, "
                    + "recording or hls"
        default: nil
        }
    }

    /// Deletes the room and ends its tasks.
    func deleting(_ cause: Cause, _ facts: some PlanningFacts) -> RoomDraft {
        var draft = draft(cause: cause.id)
        draft.deletesRoom = true
        _ = RoomMachine.apply(closing, to: &draft.room)
        draft.changeTasks { task, room in
            task.isExplicit ? task.finish(.roomDeleted, cause) : replan(&task, in: room, cause, .immediate, facts)
        }
        draft.room = Room(id: id)
        return draft
    }

    /// Whether the room is stored without participants or settings, and no task runs or waits in it.
    var isForgettable: Bool {
        isStored && room.document.isEmpty
            && tasks.allSatisfy { task in
                let machine = task.machine.document
                return !machine.isExplicit && !machine.isActive && !machine.awaitsCapacity
            }
    }

    /// Replans the tasks for a cause outside the room.
    func replanning(_ cause: Cause, _ facts: some PlanningFacts) -> RoomDraft {
        var draft = draft(cause: cause.id)
        replan(&draft, cause, .immediate, facts)
        return draft
    }

    /// Replans one task.
    func replanning(_ task: TaskID, _ cause: Cause, _ facts: some PlanningFacts) -> RoomDraft {
        changing(task, cause.id) { machine, room in replan(&machine, in: room, cause, .immediate, facts) }
    }

    /// Decides anew about everything stored, when the owner starts: relays are adopted, and changes made in the
    /// meantime take effect.
    func restoring(_ cause: Cause, _ facts: some PlanningFacts) -> RoomDraft {
        var draft = draft(cause: cause.id)
        draft.changeTasks { task, room in restore(&task, in: room, cause, facts) }
        return draft
    }

    /// Adds an entry to the timelines of the active tasks that use a layout.
    ///
    /// - Parameter chosen: The only task whose timeline gets the entry; `nil` = all.
    func noting(
        _ entry: TimelineEntry, ofLayout name: String, in chosen: TaskID? = nil, cause: CauseID,
        _ facts: some PlanningFacts
    ) -> RoomDraft {
        var draft = draft(cause: cause)
        draft.changeTasks { task, room in
            let isMeant = task.isActive && chosen.map { $0 == task.id } ?? true
            return isMeant && facts.layoutName(of: task.seen(room)) == name ? [.record(entry)] : []
        }
        draft.occurrences = draft.tasks.filter { !$0.actions.isEmpty }.map {
            .layoutFailed($0.machine.id, layout: name, message: entry.message)
        }
        return draft
    }

    /// Adds an entry to the timelines of the active tasks.
    func noting(_ entry: TimelineEntry, cause: CauseID) -> RoomDraft {
        var draft = draft(cause: cause)
        draft.changeTasks { task, _ in task.isActive ? [.record(entry)] : [] }
        return draft
    }

    /// Adds an entry to the timelines of the active tasks that show an image, or play idle media of this URL.
    ///
    /// - Parameter chosen: The only tasks whose timelines get the entry; `nil` = all.
    func noting(
        _ entry: TimelineEntry, ofImage image: String, in chosen: Set<TaskID>? = nil, cause: CauseID,
        _ facts: some PlanningFacts
    ) -> RoomDraft {
        var draft = draft(cause: cause)
        draft.changeTasks { task, room in
            let seen = task.seen(room)
            let isUsed =
                seen.settings.program?.images.contains(image) ?? false
                || seen.settings.idle?.media.contains(image) ?? false
                || facts.parameterImages(of: seen).contains(image)
            return task.isActive && isUsed && chosen?.contains(task.id) ?? true ? [.record(entry)] : []
        }
        return draft
    }

    /// Removes explicit tasks that ended permanently, when they have been kept long enough or there are too many.
    ///
    /// - Parameter now: Time in seconds since 1970.
    /// - Returns: `nil` when there is nothing to remove.
    func forgetting(at now: Double) -> (draft: RoomDraft, tasks: Set<TaskID>)? {
        guard tasks.contains(where: \.machine.document.isFinished) else { return nil }
        let finished = tasks.filter { $0.machine.document.isFinished }.map(\.id)
        let tooMany = Set(finished.dropLast(OwnedTask.mostFinished))
        let forgotten = Set(
            tasks.filter { $0.isForgotten(now) || $0.machine.document.isDisposable || tooMany.contains($0.id) }.map(
                \.id))
        guard !forgotten.isEmpty else { return nil }
        var draft = draft(cause: nil)
        for index in draft.tasks.indices where forgotten.contains(draft.tasks[index].machine.id) {
            draft.tasks[index].isForgotten = true
        }
        return (draft, forgotten)
    }

    // MARK: Parts

    /// The event that represents the deletion of the room.
    var closing: RoomEvent { RoomEvent(room: id, source: "api", id: "delete", kind: .roomClosed) }

    /// Lets every task decide on the draft's room.
    func replan(
        _ draft: inout RoomDraft, _ cause: Cause, _ urgency: TaskMachine.Urgency, _ facts: some PlanningFacts
    ) {
        draft.changeTasks { task, room in
            // The change has no effect: most events of rooms without a program end here.
            if task.isAtRest, !facts.hasDestination(task.seen(room)) { return [] }
            return replan(&task, in: room, cause, urgency, facts)
        }
    }

    func replan(
        _ task: inout TaskMachine, in room: Room, _ cause: Cause, _ urgency: TaskMachine.Urgency,
        _ facts: some PlanningFacts
    ) -> [TaskAction] {
        task.roomChanged(
            room, context: context(for: task, in: room, facts), cause: cause, urgency: urgency, now: cause.receivedAt)
    }

    func restore(
        _ task: inout TaskMachine, in room: Room, _ cause: Cause, _ facts: some PlanningFacts
    ) -> [TaskAction] {
        task.restored(
            room: room, context: context(for: task, in: room, facts), now: cause.receivedAt, origin: cause.id)
    }

    /// Lets one task decide.
    func changing(
        _ task: TaskID, _ cause: CauseID?, _ decide: (inout TaskMachine, Room) -> [TaskAction]
    ) -> RoomDraft {
        var draft = draft(cause: cause)
        draft.changeTask(task, decide)
        return draft
    }

    /// Returns the context of a task: the room as the task sees it, and the facts reported by its relay.
    func context(for task: TaskMachine, in room: Room, _ facts: some PlanningFacts) -> PlanningContext {
        let seen = task.seen(room)
        var context = facts.context(for: seen)
        if let reported = self.task(task.id)?.sourceFacts {
            context.absent = reported.absent
            context.pictureSizes = reported.pictureSizes
            context.frameRates = reported.frameRates
        }
        context.others = others
        facts.advise(&context, on: task, priority: seen.settings.policy.priority)
        return context
    }
}

extension Room {
    /// Whether the room has no participants, no settings, and no controls of users.
    var isEmpty: Bool { participants.isEmpty && settingsVersion == nil && controls == nil }
}
