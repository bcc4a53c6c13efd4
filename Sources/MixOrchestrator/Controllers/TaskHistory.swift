import MixModel
import TaskStore

/// What happened to tasks, newest first: what is stored, and what waits for a store that takes it.
struct TaskHistory: Sendable {
    let registry: RoomRegistry
    let store: any TaskStore

    /// Most switches in the answer about one task.
    static let switchesOfTask = 50

    func switches(of task: TaskID, limit: Int) async throws -> [TaskView.Switch] {
        let waiting = try await registry.reader(of: task)?.task(task)?.unstoredSwitches ?? []
        let stored = try await store.switches(of: task, limit: limit)
        return (waiting.reversed() + stored).prefix(limit).map { TaskView.Switch($0) }
    }

    /// - Parameters:
    ///   - before: Only entries with a smaller number.
    ///   - cause: Only entries of this chain.
    func timeline(of task: TaskID, before: Int64?, cause: CauseID?) async throws -> [StampedEntry] {
        let waiting = try await registry.reader(of: task)?.task(task)?.unstoredEntries ?? []
        // Retention bounds what there is; a chain can be anywhere in it.
        let stored = try await store.timeline(of: task, limit: Retention.timelineEntries)
        // After an error of the store an entry may be there and wait to be stored all the same.
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
    /// The entry's number; for those of older versions what it would have been.
    var order: Int64 { number ?? Int64(exactly: (at * 1e6).rounded()) ?? 0 }
}
