import EncodedMedia
import Logging
import MixModel
import TaskStore

/// Storing of drafts, and performing of what is stored.
extension RoomOwner {
    /// Stores a change that was requested from outside. What is not stored is not performed.
    func store(_ draft: RoomDraft) async -> Result<CommitResult, OrchestratorError> {
        let draft = stamped(draft)
        do {
            try services.takeShare(for: draft, after: state)
        } catch {
            return .failure(error)
        }
        services.bookLoad(of: draft, after: state)
        var change = change(of: draft, isRoomThere: !draft.deletesRoom && (room.version > 0 || draft.makesRoom))
        if draft.deletesRoom {
            change.room = room.version > 0 ? .delete(id: id.rawValue, expected: room.version) : nil
        } else if room.version == 0 ? draft.makesRoom : draft.room != room.document {
            change.room = .put(draft.room, expected: room.version)
        }
        change.outbox = messages(for: draft)
        guard change.event != nil || change.room != nil || !change.tasks.isEmpty || !change.outbox.isEmpty else {
            adopt(draft, change)
            return .success(.committed)
        }
        let start = MonotonicClock.now()
        do {
            let result = try await services.store.commit(change)
            meter.stored(since: start, succeeded: true)
            guard result == .committed else {
                services.bookLoad(of: state)
                services.giveBackShare(of: draft, after: state)
                return .success(.duplicate)
            }
        } catch {
            meter.stored(since: start, succeeded: false)
            logger.error("not stored: \(error)")
            services.bookLoad(of: state)
            services.giveBackShare(of: draft, after: state)
            doubtIfNeeded(error, draft)
            return .failure(OrchestratorError(error))
        }
        adopt(draft, change)
        return .success(.committed)
    }

    /// Stores and performs a change that happens anyway (deadlines, relays). It is performed even when it cannot be
    /// stored, so that a full disk does not take a program off air. The next change that is stored carries it.
    func transact(_ draft: RoomDraft) async {
        let draft = stamped(draft)
        services.bookLoad(of: draft, after: state)
        var change = change(of: draft, isRoomThere: !draft.deletesRoom && room.version > 0)
        if draft.deletesRoom { change.room = .delete(id: id.rawValue, expected: room.version) }
        change.outbox = messages(for: draft)
        guard !change.tasks.isEmpty || change.room != nil || !change.outbox.isEmpty else { return adopt(draft, change) }
        let start = MonotonicClock.now()
        do {
            _ = try await services.store.commit(change)
            meter.stored(since: start, succeeded: true)
            adopt(draft, change)
        } catch {
            meter.stored(since: start, succeeded: false)
            logger.error("not stored: \(error)")
            doubtIfNeeded(error, draft)
            unstoredMessages = change.outbox.suffix(Self.mostUnstoredMessages)
            keepUnstored(draft, change)
        }
    }

    private func doubtIfNeeded(_ error: StoreError, _ draft: RoomDraft) {
        if Self.leavesDoubt(error) { doubt = (doubt ?? []).union(draft.tasks.map(\.machine.id)) }
    }

    private func stamped(_ draft: RoomDraft) -> RoomDraft {
        var draft = draft
        for index in draft.tasks.indices {
            let machine = draft.tasks[index].machine
            if machine.isFinished, machine.finishedAt == nil { draft.tasks[index].machine.finishedAt = wallClock() }
            if machine.isDisposable { draft.tasks[index].isForgotten = true }
        }
        // A room that existed only for its tasks goes with the last of them.
        if draft.tasks.contains(where: \.isForgotten), room.version > 0, draft.room.isBlank,
            draft.tasks.allSatisfy({ $0.isForgotten || !($0.machine.isExplicit || $0.machine.isActive) })
        {
            draft.deletesRoom = true
        }
        return draft
    }

    /// Returns the change of everything but the room itself.
    private func change(of draft: RoomDraft, isRoomThere: Bool) -> StoreChange {
        var changes: [StoreChange.TaskChange] = []
        for (index, new) in draft.tasks.enumerated() {
            let old = index < tasks.count ? tasks[index] : nil
            let version = old?.machine.version ?? 0
            var change = StoreChange.TaskChange(
                id: new.machine.id, timeline: (old?.unstoredEntries ?? []) + entries(of: new, in: draft),
                switches: (old?.unstoredSwitches ?? []) + new.switches)
            // If the room is gone, only tasks that still have to be ended are kept.
            if new.isForgotten || (!isRoomThere && !new.machine.isActive) {
                (change.timeline, change.switches) = ([], [])
                if version > 0 { change.write = .delete(id: new.machine.id.rawValue, expected: version) }
            } else if new.machine != old?.machine.document || old?.isUnstored == true {
                change.write = .put(new.machine, expected: version)
            }
            if change.write != nil || !change.timeline.isEmpty || !change.switches.isEmpty { changes.append(change) }
        }
        return StoreChange(event: draft.event, tasks: changes)
    }

    private func entries(of task: RoomDraft.Task, in draft: RoomDraft) -> [StampedEntry] {
        let now = wallClock()
        let causes = draft.cause.map { [$0] }
        var entries = task.actions.compactMap { action -> TimelineEntry? in
            guard case .record(var entry) = action else { return nil }
            entry.causes = entry.causes ?? causes
            var metadata: Logger.Metadata = ["task": "\(task.machine.id)"]
            if let cause = entry.cause { metadata["cause"] = "\(cause)" }
            if let event = draft.event { metadata["event"] = "\(event.id)" }
            logger.info("\(entry.message)", metadata: metadata)
            return entry
        }
        if let event = draft.event, task.machine.isActive || !entries.isEmpty {
            let reference = EventReference(source: event.source, id: event.id)
            entries.insert(
                TimelineEntry(kind: .event, message: event.summary, causes: causes, event: reference), at: 0)
        }
        return entries.map { StampedEntry(at: now, entry: $0, number: services.numbers.next()) }
    }

    // MARK: Afterwards

    private func adopt(_ draft: RoomDraft, _ change: StoreChange) {
        if !change.outbox.isEmpty {
            unstoredMessages = []
            services.subscriptions.stored(change.outbox)
        }
        let before = room.document.participants
        switch change.room {
        case .put:
            services.countBytes(of: draft.room, after: room)
            room = Versioned(draft.room, version: room.version + 1)
        case .delete:
            services.countBytes(of: nil, after: room)
            room = Versioned(draft.room, version: 0)
        case nil: room.document = draft.room
        }
        tellOthers(before: before)
        for (index, new) in draft.tasks.enumerated() {
            if index == tasks.count { tasks.append(OwnedTask(Versioned(new.machine, version: 0))) }
            let written = change.tasks.first { $0.id == new.machine.id }
            tasks[index].machine.document = new.machine
            switch written?.write {
            case .put: tasks[index].machine.version += 1
            case .delete:
                tasks[index].machine.version = 0
                if new.machine.isFinished { services.taskIndex.release(new.machine.id) }
            case nil: break
            }
            if written != nil {
                tasks[index].isUnstored = false
                tasks[index].unstoredEntries = []
                tasks[index].unstoredSwitches = []
            }
        }
        perform(draft)
    }

    private func keepUnstored(_ draft: RoomDraft, _ change: StoreChange) {
        for (index, new) in draft.tasks.enumerated() where index < tasks.count {
            tasks[index].machine.document = new.machine
            guard let unwritten = change.tasks.first(where: { $0.id == new.machine.id }) else { continue }
            if unwritten.write != nil { tasks[index].isUnstored = true }
            tasks[index].unstoredEntries = unwritten.timeline.suffix(OwnedTask.mostUnstored)
            tasks[index].unstoredSwitches = unwritten.switches.suffix(OwnedTask.mostUnstored)
        }
        perform(draft)
    }

    private func perform(_ draft: RoomDraft) {
        tellListeners()
        if draft.deletesRoom { services.feeds.end(id) }
        holdOutputs()
        for task in draft.tasks { perform(task.actions, of: task.machine.id) }
    }

    /// Performs a task's actions. Records were stored with the decision itself; the first other action creates the
    /// relay's supervisor.
    func perform(_ actions: [TaskAction], of id: TaskID) {
        let actions = actions.filter { if case .record = $0 { false } else { true } }
        guard !actions.isEmpty, let index = tasks.firstIndex(where: { $0.id == id }) else { return }
        let supervisor = tasks[index].supervisor ?? makeSupervisor(of: id)
        tasks[index].supervisor = supervisor
        supervisor.perform(actions)
    }

    private func makeSupervisor(of task: TaskID) -> RelaySupervisor {
        var logger = logger
        logger[metadataKey: "task"] = "\(task)"
        let supervisor = RelaySupervisor(
            task: task, socket: services.sockets.path(of: task), starter: services.starter,
            starts: services.relayStarts, logger: logger, onTold: { [meter] in meter.told($0, of: task) }
        ) { [inbox] in inbox.yield(.relay(task, $0)) }
        newSupervisors.append(supervisor)
        return supervisor
    }

    // MARK: Destinations

    /// Updates the ledger with the destinations of the tasks.
    func holdOutputs() {
        for task in tasks { holdOutputs(of: task.id) }
    }

    /// Gives back the destinations that were claimed for a change that was not stored.
    func releaseUnused(_ id: TaskID) {
        if let index = tasks.firstIndex(where: { $0.id == id }) { tasks[index].claim = nil }
        holdOutputs(of: id)
    }

    private func holdOutputs(of id: TaskID) {
        guard let index = tasks.firstIndex(where: { $0.id == id }) else {
            services.outputs.hold([], for: id)
            return
        }
        let machine = tasks[index].machine.document
        let pushes = machine.isExplicit ? !machine.isFinished : room.version > 0 || machine.isActive
        let outputs = (machine.settings ?? room.document.settings).outputs
        let claim = OwnedTask.Claim(pushes: pushes, outputs: outputs)
        guard tasks[index].claim != claim else { return }
        tasks[index].claim = claim
        let seen = machine.seen(room.document)
        guard let conflict = services.outputs.hold(pushes ? services.outputs(of: seen) : [], for: id) else { return }
        logger.warning(
            "two tasks push to the same destination",
            metadata: ["task": "\(id)", "other": "\(conflict.holder)", "output": "\(conflict.output)"])
    }

    // MARK: Forgetting

    /// Forgets explicit tasks that ended for good, when they have been kept long enough or there are too many.
    func forgetFinishedTasks() async {
        guard let (draft, forgotten) = state.forgetting(at: wallClock()) else { return }
        await transact(draft)
        for task in tasks where forgotten.contains(task.id) && !task.isUnstored {
            services.taskIndex.release(task.id)
            task.supervisor?.finish()
        }
        tasks.removeAll { forgotten.contains($0.id) && !$0.isUnstored }
    }
}
