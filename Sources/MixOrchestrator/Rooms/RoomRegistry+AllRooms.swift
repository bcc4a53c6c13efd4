import MixModel
import TaskStore

/// What concerns all rooms, or those in memory.
extension RoomRegistry {
    /// Has every room that uses this layout planned anew. `cause` is for timelines. Rooms that are not in memory plan with
    /// the newest layout when they are.
    func layoutChanged(_ name: String, cause: Cause) async {
        for owner in owners { await owner.layoutChanged(name, cause: cause) }
    }

    /// Tells something in the timelines of the tasks that use this layout.
    func note(_ entry: TimelineEntry, ofLayout name: String) async {
        for owner in owners { owner.note(entry, ofLayout: name) }
    }

    /// Tells something in the timelines of the tasks on air that show this image.
    func note(_ entry: TimelineEntry, ofImage image: String) async {
        let rooms = services.needs.rooms(showing: image)
        for owner in owners where rooms.contains(owner.id) { owner.note(entry, ofImage: image) }
    }

    /// How many rooms there are, and how many tasks in each state. Without the store only those in memory are known.
    func census() async -> (rooms: Int, tasks: [String: Int]) {
        var rooms = 0
        var tasks = Dictionary(uniqueKeysWithValues: TaskView.State.allCases.map { ($0.rawValue, 0) })
        for owner in owners {
            if await owner.layoutName != nil { rooms += 1 }
            for state in await owner.taskStates { tasks[state.rawValue, default: 0] += 1 }
        }
        if let stored = try? await services.store.counts() {
            rooms = stored.rooms
            // Tasks that are not in memory have stopped.
            tasks[TaskView.State.stopped.rawValue, default: 0] += max(stored.tasks - tasks.values.reduce(0, +), 0)
        }
        return (rooms, tasks)
    }

    /// The rooms of one app, or of all, that use each layout, ordered by id: those that name it, and those in memory that
    /// have it by default.
    func layoutUse(by app: AppID? = nil) async throws(StoreError) -> [String: [RoomID]] {
        var use = try await services.store.roomsNamingLayouts().mapValues { Set($0) }
        for owner in owners {
            for layout in await owner.layoutNames { use[layout, default: []].insert(owner.id) }
        }
        return use.mapValues { rooms in rooms.filter { app == nil || $0.app == app }.sorted() }
            .filter { !$0.value.isEmpty }
    }
}
