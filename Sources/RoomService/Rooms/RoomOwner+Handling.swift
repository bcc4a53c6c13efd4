import EncodedMedia
import EventSubscription
import MixModel
import TaskStore

/// Handling of each message.
extension RoomOwner {
    func handle(_ message: RoomMessage) async {
        await settleDoubt()
        switch message {
        case .event(let event, let receivedAt, let reply):
            reply.answer(await handle(event, receivedAt))
        case .make(let task, let receivedAt, let reply):
            reply.answer(await make(task, receivedAt))
        case .settings(let settings, let receivedAt, let reply):
            reply.answer(await change(settings, receivedAt))
        case .delete(let receivedAt, let reply):
            reply.answer(await deleteRoom(receivedAt))
        case .forget(let receivedAt, let reply):
            reply.answer(await forget(receivedAt))
        case .stopTask(let task, let receivedAt, let reply):
            reply.answer(await stopTask(task, receivedAt))
        case .layoutChanged:
            guard var cause = layoutCause.withLock({ $0.take() }) else { return }
            cause.id = cause.id ?? services.numbers.nextCause()
            await replan(cause, now: cause.receivedAt)
        case .layoutNote(let name, let entry):
            await tell(entry, ofLayout: name)
        case .needsChanged:
            await takeOthers()
        case .imageNote(let image, let entry):
            await tell(entry, ofImage: image)
        case .loadChanged(let reason):
            let now = MonotonicClock.now()
            await replan(Cause(receivedAt: now, summary: reason, id: services.numbers.nextCause()), now: now)
        case .relay(let task, let report):
            await handle(report, of: task)
        case .tidy, .fold:
            break  // Done after every message, or by the loop.
        }
        releaseNeeds()
    }

    /// Decides again on everything stored: adopts relays, and applies changes made meanwhile.
    func restore() async {
        for task in tasks where task.machine.document.isExplicit { services.quotas.settle(task.machine.document) }
        guard room.version > 0 || tasks.contains(where: { $0.machine.version > 0 }) else { return holdOutputs() }
        await prepare()
        let now = MonotonicClock.now()
        let origin = services.numbers.nextCause()
        var draft = draft(cause: origin)
        draft.changeTasks { task, room in
            task.restored(room: room, context: context(for: task, in: room), now: now, origin: origin)
        }
        await transact(draft)
    }

    private func handle(_ event: RoomEvent, _ receivedAt: Int64) async -> Result<EventOutcome, OrchestratorError> {
        let cause = Cause(receivedAt: receivedAt, summary: event.summary, id: services.numbers.nextCause())
        var draft = draft(cause: cause.id)
        draft.event = event
        draft.makesRoom = true
        let outcome = RoomMachine.apply(event, to: &draft.room)
        if outcome == .changed { roomChanged(&draft, cause, .debounced, now: receivedAt) }
        let result = await store(draft)
        meter.eventStored(receivedAt: receivedAt)
        return result.map { $0 == .duplicate ? .duplicate : outcome == .stale ? .stale : .accepted }
    }

    func deleteRoom(_ receivedAt: Int64) async -> Result<Void, OrchestratorError> {
        let cause = Cause(
            receivedAt: receivedAt, summary: "room deleted by API", id: services.numbers.nextCause())
        var draft = draft(cause: cause.id)
        draft.deletesRoom = true
        _ = RoomMachine.apply(RoomEvent(room: id, source: "api", id: "delete", kind: .roomClosed), to: &draft.room)
        draft.changeTasks { task, room in
            task.isExplicit
                ? task.finish(.roomDeleted, cause)
                : task.roomChanged(
                    room, context: context(for: task, in: room), cause: cause, urgency: .immediate, now: receivedAt)
        }
        draft.room = Room(id: id)
        return await store(draft).map { _ in }
    }

    /// Plans the tasks again for a cause outside the room.
    func replan(_ cause: Cause, now: Int64) async {
        var draft = draft(cause: cause.id)
        roomChanged(&draft, cause, .immediate, now: now)
        await transact(draft)
    }

    /// Lets every task decide on the draft's room.
    func roomChanged(_ draft: inout RoomDraft, _ cause: Cause, _ urgency: TaskMachine.Urgency, now: Int64) {
        draft.changeTasks { task, room in
            // Nothing can follow from the change: most events of rooms without a program end here.
            if task.isAtRest, !services.hasDestination(task.seen(room)) { return [] }
            return task.roomChanged(
                room, context: context(for: task, in: room), cause: cause, urgency: urgency, now: now)
        }
    }

    private func tell(_ entry: TimelineEntry, ofLayout name: String) async {
        var draft = draft(cause: services.numbers.nextCause())
        draft.changeTasks { task, room in
            task.isActive && services.layoutName(of: task.seen(room)) == name ? [.record(entry)] : []
        }
        draft.occurrences = draft.tasks.filter { !$0.actions.isEmpty }.map {
            .layoutFailed($0.machine.id, layout: name, message: entry.message)
        }
        await transact(draft)
    }

    /// Returns the context of a task: the room as the task sees it, and the facts that its relay reported.
    func context(for task: TaskMachine, in room: Room) -> PlanningContext {
        var context = services.context(for: task.seen(room))
        if let facts = self.task(task.id)?.sourceFacts {
            context.absent = facts.absent
            context.pictureSizes = facts.pictureSizes
        }
        context.others = others
        services.load.advise(&context, on: task, priority: task.seen(room).settings.policy.priority)
        return context
    }
}
