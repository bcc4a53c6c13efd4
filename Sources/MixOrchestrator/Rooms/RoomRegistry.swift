import Logging
import MixModel
import ServiceLifecycle
import TaskStore

/// Every room that is known, each with its owner; runs the owners.
actor RoomRegistry: Service {
    private let services: RoomServices
    private let keepsRelays: Bool
    private var owners: [RoomID: RoomOwner] = [:]
    private nonisolated let arrivals: AsyncStream<RoomOwner>
    private nonisolated let arrival: AsyncStream<RoomOwner>.Continuation

    /// Longest that a shutdown waits for relays to end; together with HTTP's own it stays within 10 s.
    static let drainLimit: Duration = .seconds(9)

    /// - Parameter keepsRelays: Whether relays stay on air when the service is shut down.
    init(services: RoomServices, keepsRelays: Bool) {
        self.services = services
        self.keepsRelays = keepsRelays
        (arrivals, arrival) = AsyncStream.makeStream()
    }

    /// Makes owners for everything stored; their relays are adopted when `run` starts them. Call once, before `run`.
    func restore() async throws(StoreError) {
        var tasks = Dictionary(grouping: try await services.store.tasks(), by: \.document.room)
        for room in try await services.store.rooms() {
            start(RoomOwner(room: room, tasks: tasks.removeValue(forKey: room.document.id) ?? [], services: services))
        }
        // Tasks of rooms that were deleted: what is left of them has to be drained.
        for (id, left) in tasks {
            start(RoomOwner(room: Versioned(Room(id: id), version: 0), tasks: left, services: services))
        }
        services.logger.info("rooms restored", metadata: ["count": "\(owners.count)"])
    }

    private func start(_ owner: RoomOwner) {
        owners[owner.id] = owner
        arrival.yield(owner)
    }

    /// The room's owner; made when there is none.
    func owner(_ id: RoomID) -> RoomOwner {
        if let owner = owners[id] { return owner }
        let owner = RoomOwner(room: Versioned(Room(id: id), version: 0), tasks: [], services: services)
        start(owner)
        return owner
    }

    func existingOwner(_ id: RoomID) -> RoomOwner? { owners[id] }

    /// The owner of the room that this task is of.
    func owner(of task: TaskID) -> RoomOwner? {
        (services.taskIndex.room(of: task) ?? task.roomOfAutomatic).flatMap { existingOwner($0) }
    }

    /// Ordered by room.
    func allOwners() -> [RoomOwner] { owners.values.sorted { $0.id < $1.id } }

    /// Has every room that uses this layout planned anew. `cause` is for timelines.
    func layoutChanged(_ name: String, cause: Cause) async {
        for owner in owners.values { await owner.layoutChanged(name, cause: cause) }
    }

    /// Tells something in the timelines of the tasks that use this layout.
    func note(_ entry: TimelineEntry, ofLayout name: String) {
        for owner in owners.values { owner.note(entry, ofLayout: name) }
    }

    /// How many rooms there are, and how many tasks in each state.
    func census() async -> (rooms: Int, tasks: [String: Int]) {
        var rooms = 0
        var tasks = Dictionary(uniqueKeysWithValues: TaskView.State.allCases.map { ($0.rawValue, 0) })
        for owner in owners.values {
            if await owner.layoutName != nil { rooms += 1 }
            for state in await owner.taskStates { tasks[state.rawValue, default: 0] += 1 }
        }
        return (rooms, tasks)
    }

    /// The rooms that use each layout, ordered by id.
    func layoutUse() async -> [String: [RoomID]] {
        var use: [String: [RoomID]] = [:]
        for owner in allOwners() {
            for layout in await owner.layoutNames { use[layout, default: []].append(owner.id) }
        }
        return use
    }

    func run() async throws {
        await withDiscardingTaskGroup { group in
            await withGracefulShutdownHandler {
                for await owner in arrivals { group.addTask { await owner.run() } }
            } onGracefulShutdown: {
                self.arrival.finish()
            }
            if !Task.isCancelled, !keepsRelays { await drain() }
            for owner in owners.values { owner.stop() }
        }
    }

    private func drain() async {
        var draining: [RoomOwner] = []
        for owner in owners.values where await owner.drainForShutdown() { draining.append(owner) }
        if !draining.isEmpty { services.logger.info("relays are drained", metadata: ["count": "\(draining.count)"]) }
        let limit = ContinuousClock.now + Self.drainLimit
        while let owner = draining.last, ContinuousClock.now < limit {
            if await owner.isQuiet {
                draining.removeLast()
            } else {
                guard (try? await Task.sleep(for: .milliseconds(20))) != nil else { return }
            }
        }
    }
}
