import EventSubscription
import MixModel
import TaskStore

/// Recovery from a store failure that leaves open whether a change was stored. Pure.
extension RoomState {
    /// The differences between memory and the store.
    struct Rereading {
        /// Whether the store has a different version of the room, or none.
        var isRoomOther = false
        /// Whether the room has been deleted.
        var wasDeleted = false
        /// Tasks that were not in memory: those of a request that was answered with an error.
        var found: [TaskID] = []
        /// Whether the tasks have to decide again.
        var needsDecision = false
    }

    /// Adopts the stored state. The store is authoritative for the room, which changes by requests alone. Memory is
    /// authoritative for the tasks, because their actions have been performed; it is stored with the next change.
    mutating func reread(_ storedRoom: Versioned<Room>?, _ stored: [Versioned<TaskMachine>]) -> Rereading {
        var reading = Rereading()
        reading.isRoomOther = storedRoom?.version ?? 0 != room.version
        reading.wasDeleted = reading.isRoomOther && storedRoom == nil
        if reading.isRoomOther { room = storedRoom ?? Versioned(Room(id: id), version: 0) }
        let known = Dictionary(stored.map { ($0.document.id, $0) }) { first, _ in first }
        for index in tasks.indices {
            let found = known[tasks[index].id]
            if tasks[index].machine.version != found?.version ?? 0 {
                // A write was stored, including everything that it carried if it wrote this document.
                let isWritten = found?.document == tasks[index].machine.document
                tasks[index].isUnstored = !isWritten
                if isWritten { (tasks[index].unstoredEntries, tasks[index].unstoredSwitches) = ([], []) }
            }
            tasks[index].machine.version = found?.version ?? 0
        }
        let found = stored.filter { task($0.document.id) == nil }
        tasks += found.map(OwnedTask.init)
        reading.found = found.map(\.document.id)
        reading.needsDecision = reading.isRoomOther || !found.isEmpty || tasks.contains(where: \.isUnstored)
        return reading
    }

    /// Lets the tasks decide on the state that was read.
    func deciding(after reading: Rereading, _ cause: Cause, _ facts: some PlanningFacts) -> RoomDraft {
        var draft = draft(cause: cause.id)
        if reading.wasDeleted { _ = RoomMachine.apply(closing, to: &draft.room) }
        draft.changeTasks { task, room in
            if reading.wasDeleted, task.isExplicit { return task.finish(.roomDeleted, cause) }
            return reading.found.contains(task.id)
                ? restore(&task, in: room, cause, facts) : replan(&task, in: room, cause, .immediate, facts)
        }
        draft.room = room.document
        return draft
    }
}
