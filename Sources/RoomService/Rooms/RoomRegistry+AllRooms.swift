import MixModel
import TaskStore

/// Operations on all rooms, or on those in memory.
extension RoomRegistry {
    /// Makes every room that uses this layout replan. `cause` is for timelines. Rooms that are not in memory plan with
    /// the newest layout when they are read.
    func layoutChanged(_ name: String, cause: Cause) async {
        for owner in owners { await owner.layoutChanged(name, cause: cause) }
    }

    /// Adds an entry to the timelines of the tasks that use this layout.
    func note(_ entry: TimelineEntry, ofLayout name: String) async {
        for owner in owners { owner.note(entry, ofLayout: name) }
    }

    /// Makes every room check for images of its layouts that cannot be shown. Rooms that are not in memory check when
    /// one of their tasks starts.
    func imagesOfLayoutsFailed() async {
        for owner in owners { owner.imagesOfLayoutsFailed() }
    }

    /// Adds an entry to the timelines of the tasks on air that need an image or medium that cannot be shown, and of
    /// tasks that start while that is the case.
    func noteFailure(_ entry: TimelineEntry, ofImage image: String) async {
        services.needs.failed(image, entry)
        let rooms = services.needs.rooms(showing: image)
        for owner in owners where rooms.contains(owner.id) { owner.note(entry, ofImage: image) }
    }

    /// Adds an entry to the timelines of a room's active tasks, if the room is in memory.
    func note(_ entry: TimelineEntry, in room: RoomID) { ownerInMemory(room)?.note(entry) }

    /// Returns whether a room is in memory, as every room on air is.
    func hasInMemory(_ room: RoomID) -> Bool { ownerInMemory(room) != nil }

    /// Returns the number of rooms, and of tasks in each state. Takes constant time, however many rooms are in memory.
    package func census() async -> (rooms: Int, tasks: [String: Int]) {
        var tasks = Dictionary(uniqueKeysWithValues: TaskState.allCases.map { ($0.rawValue, 0) })
        for (state, count) in services.quotas.taskStates { tasks[state.rawValue] = count }
        if let stored = try? await services.store.counts() {
            // All other tasks have stopped.
            tasks[TaskState.stopped.rawValue, default: 0] += max(stored.tasks - tasks.values.reduce(0, +), 0)
        }
        return (services.quotas.roomCount, tasks)
    }

    /// Returns at most `limit` rooms of one app, or of all apps, that use each of these layouts, ordered by identifier:
    /// rooms that name the layout, and rooms with a task that uses it by default.
    package func layoutUse(
        of layouts: [String], by app: AppID? = nil, limit: Int
    ) async throws(StoreError) -> [String: [RoomID]] {
        var busy: [String: Set<RoomID>] = [:]
        for owner in busyOwners where app == nil || owner.app == app {
            for layout in await owner.layoutNames { busy[layout, default: []].insert(owner.id) }
        }
        var use: [String: [RoomID]] = [:]
        for layout in layouts {
            let naming = try await services.store.rooms(naming: layout, of: app, limit: limit)
            let rooms = (busy[layout] ?? []).union(naming)
            if !rooms.isEmpty { use[layout] = Array(rooms.sorted().prefix(limit)) }
        }
        return use
    }
}
