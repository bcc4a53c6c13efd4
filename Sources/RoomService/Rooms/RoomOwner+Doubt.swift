import EncodedMedia
import MixModel
import TaskStore

/// Recovery from a failure of the store that leaves open whether the change is stored: a write may be durable although
/// its answer was an error. Going on with the state in memory could then lose the change, or be refused for ever.
extension RoomOwner {
    /// Whether the change may be stored despite the error.
    static func leavesDoubt(_ error: StoreError) -> Bool {
        if case .full = error { false } else { true }
    }

    /// Reads the stored state before anything is decided on it. While the store cannot be read, the doubt stays.
    /// Decisions that follow from the reading are stored, and that may cause the next doubt.
    func settleDoubt() async {
        for _ in 0..<3 where doubt != nil { await readAgain() }
    }

    private func readAgain() async {
        guard let doubtful = doubt else { return }
        do {
            let storedRoom = try await services.store.room(id)
            var stored: [Versioned<TaskMachine>] = []
            for task in doubtful.union(tasks.map(\.id)).sorted() {
                guard let found = try await services.store.task(task), found.document.room == id else { continue }
                stored.append(found)
            }
            doubt = nil
            await adopt(storedRoom, stored)
        } catch {
            logger.error("the room cannot be read: \(error)")
        }
    }

    /// Takes over the stored state. The store is right about the room, which changes by requests alone. Memory is right
    /// about the tasks, because their actions have been performed; it is stored with the next change.
    private func adopt(_ storedRoom: Versioned<Room>?, _ stored: [Versioned<TaskMachine>]) async {
        let isOther = storedRoom?.version ?? 0 != room.version
        let wasDeleted = isOther && storedRoom == nil
        if isOther {
            let before = room.document.participants
            if storedRoom != nil, room.version == 0 { services.quotas.count(rooms: 1, bytes: 0, of: app) }
            countBytes(of: storedRoom?.document)
            room = storedRoom ?? Versioned(Room(id: id), version: 0)
            tellOthers(before: before)
        }
        let known = Dictionary(stored.map { ($0.document.id, $0) }) { first, _ in first }
        for index in tasks.indices {
            let found = known[tasks[index].id]
            if tasks[index].machine.version != found?.version ?? 0 {
                // A write was stored, together with what it carried if it was this document.
                let isWritten = found?.document == tasks[index].machine.document
                tasks[index].isUnstored = !isWritten
                if isWritten { (tasks[index].unstoredEntries, tasks[index].unstoredSwitches) = ([], []) }
            }
            tasks[index].machine.version = found?.version ?? 0
        }
        // Tasks created by a request that was answered with an error.
        let found = stored.filter { task($0.document.id) == nil }
        tasks += found.map(OwnedTask.init)
        guard isOther || !found.isEmpty || tasks.contains(where: \.isUnstored) else { return }
        for task in found { _ = services.taskIndex.claim(task.document.id, for: id) }

        let now = MonotonicClock.now()
        let cause = Cause(
            receivedAt: now, summary: "room reread from the store", id: services.numbers.nextCause())
        var draft = draft(cause: cause.id)
        let closing = RoomEvent(room: id, source: "api", id: "delete", kind: .roomClosed)
        if wasDeleted { _ = RoomMachine.apply(closing, to: &draft.room) }
        let new = Set(found.map(\.document.id))
        draft.changeTasks { task, room in
            if wasDeleted, task.isExplicit { return task.finish(.roomDeleted, cause) }
            let context = context(for: task, in: room)
            return new.contains(task.id)
                ? task.restored(room: room, context: context, now: now, origin: cause.id)
                : task.roomChanged(room, context: context, cause: cause, urgency: .immediate, now: now)
        }
        draft.room = room.document
        await transact(draft)
    }
}
