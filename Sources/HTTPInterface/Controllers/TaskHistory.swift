import MixModel
import RoomService
import TaskStore

/// The switches and timeline entries of tasks, newest first: those in the store, and those that wait to be stored.
package struct TaskHistory: Sendable {
    let registry: RoomRegistry
    let store: any TaskStore

    package init(registry: RoomRegistry, store: any TaskStore) {
        self.registry = registry
        self.store = store
    }

    /// Maximum number of switches in the answer about one task.
    static let switchesOfTask = 50

    func switches(of task: TaskID, limit: Int) async throws -> [TaskView.Switch] {
        let waiting = try await registry.snapshot(of: task)?.task(task)?.unstoredSwitches ?? []
        let stored = try await store.switches(of: task, limit: limit)
        return (waiting.reversed() + stored).prefix(limit).map { TaskView.Switch($0) }
    }

    /// Returns the task's timeline entries.
    ///
    /// - Parameters:
    ///   - before: Only entries with a smaller number are returned.
    ///   - cause: Only entries of this chain are returned.
    func timeline(of task: TaskID, before: Int64?, cause: CauseID?) async throws -> [StampedEntry] {
        let waiting = try await registry.snapshot(of: task)?.task(task)?.unstoredEntries ?? []
        // Retention bounds the number of entries. A chain can be anywhere among them.
        let stored = try await store.timeline(of: task, limit: Retention.timelineEntries)
        // After a store error, an entry may be stored and still wait to be stored.
        var seen: Set<Int64> = []
        return (waiting.reversed() + stored).filter { entry in
            if let number = entry.number, !seen.insert(number).inserted { return false }
            if let before, entry.order >= before { return false }
            if let cause { return entry.entry.causes?.contains(cause) ?? false }
            return true
        }
    }
}

extension StampedEntry {
    /// The entry's number. For entries of older versions, which have none, it is their time in µs since 1970.
    var order: Int64 { number ?? Int64(exactly: (at * 1e6).rounded()) ?? 0 }
}
