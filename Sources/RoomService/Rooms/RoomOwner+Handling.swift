import EncodedMedia
import EventSubscription
import MixModel
import TaskStore

/// Processing of each message: `RoomState` decides, and the owner stores and performs the decision.
extension RoomOwner {
    func handle(_ message: RoomMessage) async {
        await settleDoubt()
        switch message {
        case .event(let event, let receivedAt, let reply):
            reply.answer(await handle(event, receivedAt))
        case .stream(let event, let path, let turn, let receivedAt, let reply):
            reply.answer(await handle(event, ofStreamAt: path, turn, receivedAt))
        case .make(let task, let receivedAt, let reply):
            reply.answer(await .of { () throws(OrchestratorError) in try await make(task, receivedAt) })
        case .settings(let settings, let receivedAt, let reply):
            reply.answer(await .of { () throws(OrchestratorError) in try await change(settings, receivedAt) })
        case .delete(let receivedAt, let reply):
            reply.answer(await delete(receivedAt))
        case .forget(let receivedAt, let reply):
            reply.answer(state.isForgettable ? await delete(receivedAt).map { true } : .success(false))
        case .control(let user, let change, let receivedAt, let reply):
            reply.answer(
                await .of { () throws(OrchestratorError) in try await control(user, change, receivedAt) })
        case .stopTask(let task, let receivedAt, let reply):
            reply.answer(await stop(task, receivedAt))
        case .layoutChanged:
            // The new values may name other images.
            await prepare()
            await replan(layoutCause.withLock { $0.take() })
        case .layoutNote(let name, let entry):
            await transact(state.noting(entry, ofLayout: name, cause: services.numbers.nextCause(), services))
        case .needsChanged:
            await takeOthers()
        case .valuesChanged:
            takeValues()
        case .note(let entry):
            await transact(state.noting(entry, cause: services.numbers.nextCause()))
        case .imageNote(let image, let entry):
            await transact(state.noting(entry, ofImage: image, cause: services.numbers.nextCause(), services))
        case .loadChanged(let reason):
            await transact(state.replanning(cause(reason), services))
        case .relay(let task, let report):
            await handle(report, of: task)
        case .imagesOfLayoutsFailed, .tidy, .fold:
            break  // Done after every message, or by the loop.
        }
        releaseNeeds()
        await noteFailures()
        await noteLayoutFailures()
        noteShownValues()
    }

    /// Returns a numbered cause.
    ///
    /// - Parameter time: Time of receipt in ns of CLOCK_MONOTONIC.
    func cause(_ summary: String, at time: Int64 = MonotonicClock.now()) -> Cause {
        Cause(receivedAt: time, summary: summary, id: services.numbers.nextCause())
    }

    /// Decides anew about everything stored.
    func restore() async {
        guard !hasLeft else { return }
        for task in state.tasks where task.machine.document.isExplicit { services.quotas.settle(task.machine.document) }
        guard state.isAnythingStored else { return performer.holdOutputs(of: state) }
        await prepare()
        await transact(state.restoring(cause("service started"), services))
        // The tasks already know of the failures, or the next check will tell them.
        if holdsNeeds { activeTasks = state.activeTasks }
        skipLayoutFailures()
        noteShownValues()
    }

    /// Replans the tasks for a cause outside the room, if there is one.
    func replan(_ cause: Cause?) async {
        guard var cause else { return }
        cause.id = cause.id ?? services.numbers.nextCause()
        await transact(state.replanning(cause, services))
    }

    func handle(_ event: RoomEvent, _ receivedAt: Int64) async -> Result<EventReceipt, OrchestratorError> {
        let (draft, outcome) = state.applying(event, cause(event.summary, at: receivedAt), services)
        let result = await store(draft)
        meter.eventStored(receivedAt: receivedAt)
        return result.map {
            guard $0 != .duplicate else { return EventReceipt(outcome: .duplicate) }
            return EventReceipt(
                outcome: outcome == .stale ? .stale : .accepted, note: state.note(on: event, outcome, services))
        }
    }

    private func delete(_ receivedAt: Int64) async -> Result<Void, OrchestratorError> {
        await store(state.deleting(cause("room deleted by API", at: receivedAt), services)).map { _ in }
    }

    private func stop(_ task: TaskID, _ receivedAt: Int64) async -> Result<Bool, OrchestratorError> {
        guard let draft = state.stopping(task, cause("task deleted by API", at: receivedAt)) else {
            return .success(false)
        }
        return await store(draft).map { _ in true }
    }

    private func make(_ new: NewTask, _ receivedAt: Int64) async throws(OrchestratorError) -> TaskCreation {
        guard !hasLeft else { throw .moving(id.rawValue) }
        if let repeated = try state.repeated(new) { return repeated }
        try await claim(new.id)
        defer { if state.task(new.id) == nil { services.taskIndex.release(new.id) } }
        // Before the claim of destinations, which nothing would give back if this throws.
        try await services.media.check(new.settings.idle)
        if let conflict = services.destinations.claim(new.settings.outputs ?? [], for: new.id) {
            throw .outputTaken(conflict, app: app)
        }
        var isMade = false
        defer { if !isMade { performer.releaseUnused(new.id, in: state) } }
        await prepare(for: new.settings)
        let cause = cause("task created by API", at: receivedAt)
        let draft: RoomDraft
        do {
            draft = try state.making(new, version: services.numbers.next(), madeAt: wallClock(), cause, services)
        } catch {
            if error.refusal != nil { services.load.noteRefusal() }
            throw error
        }
        _ = try await store(draft).get()
        isMade = true
        return .made
    }

    /// Claims the identifier of a task that is about to be made.
    private func claim(_ task: TaskID) async throws(OrchestratorError) {
        var holder = services.taskIndex.claim(task, for: id)
        guard holder != id else { return }
        if let homes = services.homes, holder.map({ !homes.has($0) }) ?? true {
            // Other nodes make and end tasks of their rooms, of which this one is not told.
            do {
                let stored = try await services.store.task(task)?.document.room
                services.taskIndex.release(task)
                _ = services.taskIndex.claim(task, for: stored ?? id)
                holder = stored
            } catch {
                if holder == nil { services.taskIndex.release(task) }
                throw OrchestratorError(error)
            }
        }
        if let holder, holder != id { throw .taskTaken(task, in: holder) }
    }

    private func change(
        _ change: SettingsChange, _ receivedAt: Int64
    ) async throws(OrchestratorError) -> SettingsOutcome {
        guard !hasLeft else { throw .moving(id.rawValue) }
        let new: RoomState.NewSettings
        switch try state.revising(change, services) {
        case .unchanged(let tag): return SettingsOutcome(isNew: false, isUnchanged: true, tag: tag)
        case .changed(let settings): new = settings
        }
        try await services.media.check(new.newIdle)
        if let outputs = new.settings.outputs, let conflict = services.destinations.claim(outputs, for: new.holder) {
            throw .outputTaken(conflict, app: app)
        }
        var isStored = false
        defer { if !isStored { performer.releaseUnused(new.holder, in: state) } }
        await prepare(for: new.settings)
        let cause = cause(change.summary, at: receivedAt)
        let version = services.numbers.next()
        _ = try await store(state.applying(new, version: version, cause, services)).get()
        isStored = true
        return SettingsOutcome(isNew: new.isNew, isUnchanged: false, tag: SettingsTag(version))
    }

    private func control(
        _ user: UserID, _ change: ParticipantControlChange, _ receivedAt: Int64
    ) async throws(OrchestratorError) {
        let number = services.numbers.nextCause()
        guard let draft = try state.controlling(user, change, at: receivedAt, number: number, services) else { return }
        _ = try await store(draft).get()
    }
}
