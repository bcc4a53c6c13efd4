import EventSubscription
import MixModel
import TaskStore

/// A draft that is being stored.
struct RoomCommit {
    var draft: RoomDraft
    var change: StoreChange
    /// Occurrences for listeners of the room's feed, delivered when the draft is performed.
    var occurrences: [Occurrence] = []
}

/// Turns drafts into changes of the store, and applies stored drafts to the state. Pure: the owner passes a change to
/// the store and reports the outcome.
struct RoomCommitter {
    /// Tasks of a change whose outcome in the store is unknown; `nil` = memory agrees with the store.
    private(set) var doubt: Set<TaskID>?
    /// Messages that could not be stored. The next change that is stored includes them.
    private(set) var unstoredMessages: [OutboxMessage] = []

    /// Maximum number of messages kept until the store accepts them. The oldest are dropped first.
    static let mostUnstoredMessages = 200

    /// Returns the change that stores the draft, including what could not be stored before.
    ///
    /// - Parameters:
    ///   - wallTime: Current time in seconds since 1970.
    ///   - nextNumber: Returns the number of the next timeline entry.
    func change(
        of draft: RoomDraft, after state: RoomState, wallTime: Double, nextNumber: () -> Int64
    ) -> StoreChange {
        let isThere = !draft.deletesRoom && (state.isStored || draft.makesRoom)
        var change = StoreChange(event: draft.event)
        for (index, new) in draft.tasks.enumerated() {
            let old = index < state.tasks.count ? state.tasks[index] : nil
            let entries = draft.entries(of: new).map { entry in
                StampedEntry(at: wallTime, entry: entry, number: nextNumber())
            }
            let task = Self.change(of: new, after: old, entries: entries, isRoomThere: isThere)
            if task.write != nil || !task.timeline.isEmpty || !task.switches.isEmpty { change.tasks.append(task) }
        }
        if draft.deletesRoom {
            change.room = state.isStored ? .delete(id: state.id.rawValue, expected: state.room.version) : nil
        } else if state.isStored ? draft.room != state.room.document : draft.makesRoom {
            change.room = .put(draft.room, expected: state.room.version)
        }
        change.outbox = unstoredMessages
        return change
    }

    private static func change(
        of new: RoomDraft.Task, after old: OwnedTask?, entries: [StampedEntry], isRoomThere: Bool
    ) -> StoreChange.TaskChange {
        let version = old?.machine.version ?? 0
        var change = StoreChange.TaskChange(
            id: new.machine.id, timeline: (old?.unstoredEntries ?? []) + entries,
            switches: (old?.unstoredSwitches ?? []) + new.switches)
        // If the room is gone, only tasks that still have to be ended are kept.
        if new.isForgotten || (!isRoomThere && !new.machine.isActive) {
            (change.timeline, change.switches) = ([], [])
            if version > 0 { change.write = .delete(id: new.machine.id.rawValue, expected: version) }
        } else if new.machine != old?.machine.document || old?.isUnstored == true {
            change.write = .put(new.machine, expected: version)
        }
        return change
    }

    // MARK: Outcomes

    /// Applies a draft that is stored, or that changes nothing in the store.
    mutating func stored(_ commit: RoomCommit, in state: inout RoomState) {
        if !commit.change.outbox.isEmpty { unstoredMessages = [] }
        switch commit.change.room {
        case .put: state.room = Versioned(commit.draft.room, version: state.room.version + 1)
        case .delete: state.room = Versioned(commit.draft.room, version: 0)
        case nil: state.room.document = commit.draft.room
        }
        for (index, new) in commit.draft.tasks.enumerated() {
            if index == state.tasks.count { state.tasks.append(OwnedTask(Versioned(new.machine, version: 0))) }
            state.tasks[index].machine.document = new.machine
            guard let written = commit.change.tasks.first(where: { $0.id == new.machine.id }) else { continue }
            switch written.write {
            case .put: state.tasks[index].machine.version += 1
            case .delete: state.tasks[index].machine.version = 0
            case nil: break
            }
            state.tasks[index].isUnstored = false
            state.tasks[index].unstoredEntries = []
            state.tasks[index].unstoredSwitches = []
        }
    }

    /// Records that a change may be stored despite the error.
    mutating func failed(_ commit: RoomCommit, _ error: StoreError) {
        if case .full = error { return }
        doubt = (doubt ?? []).union(commit.draft.tasks.map(\.machine.id))
    }

    /// Applies a draft that is performed although it is not stored. The next change that is stored includes it.
    mutating func keep(_ commit: RoomCommit, in state: inout RoomState) {
        unstoredMessages = commit.change.outbox.suffix(Self.mostUnstoredMessages)
        for (index, new) in commit.draft.tasks.enumerated() where index < state.tasks.count {
            state.tasks[index].machine.document = new.machine
            guard let unwritten = commit.change.tasks.first(where: { $0.id == new.machine.id }) else { continue }
            if unwritten.write != nil { state.tasks[index].isUnstored = true }
            state.tasks[index].unstoredEntries = unwritten.timeline.suffix(OwnedTask.mostUnstored)
            state.tasks[index].unstoredSwitches = unwritten.switches.suffix(OwnedTask.mostUnstored)
        }
    }

    /// Records that memory agrees with the store.
    mutating func settled() { doubt = nil }
}

extension StoreChange {
    /// Whether a room's change has nothing to store.
    var isEmpty: Bool { event == nil && room == nil && tasks.isEmpty && outbox.isEmpty }
}
