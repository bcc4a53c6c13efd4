import EventSubscription
import Logging
import MixModel
import ServiceLifecycle
import Synchronization
import TaskStore

/// Finds the owner of every room and runs the owners. Thread-safe.
///
/// Only rooms in which something happens are in memory. An owner that could be dropped is dropped when nobody has asked
/// for it for a while, and made again from the store when somebody does.
final class RoomRegistry: Service {
    let services: RoomServices
    private let keepsRelays: Bool
    private let arrivals: AsyncStream<RoomOwner>
    private let arrival: AsyncStream<RoomOwner>.Continuation
    let state = Mutex(State())

    struct State {
        var owners: [RoomID: Entry] = [:]
        /// Rooms that are being read, with those who wait for it.
        var loads: [RoomID: [CheckedContinuation<Void, Never>]] = [:]
        /// Owners that could be dropped.
        var offers: [RoomOwner] = []
        /// Counts sweeps.
        var round = 0
        /// Number of the last room that was looked at for being empty.
        var forgottenUpTo: Int64 = 0
        /// Sockets that no task wants, with a relay behind them.
        var leftovers: [String] = []
        var isStopping = false
    }
    struct Entry {
        let owner: RoomOwner
        /// The sweep before which it was asked for last.
        var round: Int
    }

    /// Longest that a shutdown waits for relays to end: longer than the last of them is killed after.
    static let drainLimit: Duration = .seconds(7)
    /// Between two looks for owners to drop.
    static let sweepInterval: Duration = .milliseconds(250)
    /// For how many looks an owner stays after it was asked for; that of a room that is gone does not.
    static let roundsOfRest = 8
    /// The same for rooms in which somebody publishes, while few owners could be dropped: the next event is likely.
    static let roundsOfRestWhileLive = 240
    static let mostAtLeisure = 8192
    /// After so many looks an owner that stays gives back what its last change took.
    static let roundsUntilFolded = 2

    /// Between two looks for ended tasks to forget.
    static let tidyInterval: Duration = .seconds(60)

    /// - Parameter keepsRelays: Whether relays stay on air when the service is shut down.
    init(services: RoomServices, keepsRelays: Bool) {
        self.services = services
        self.keepsRelays = keepsRelays
        (arrivals, arrival) = AsyncStream.makeStream()
    }

    // MARK: Finding

    /// The room's owner; made when there is none.
    ///
    /// - Throws: When the store cannot be read, or the service stops.
    func owner(_ id: RoomID) async throws(OrchestratorError) -> RoomOwner {
        while true {
            if let owner = try await find(id, makingNew: true) { return owner }
        }
    }

    /// `nil` when nothing is known of the room.
    func existingOwner(_ id: RoomID) async throws(OrchestratorError) -> RoomOwner? {
        try await find(id, makingNew: false)
    }

    /// The owner when it is in memory, otherwise one that shows what is stored. Requests to it reach the room's owner;
    /// looking at it keeps nothing in memory. `nil` when nothing is known of the room.
    func reader(_ id: RoomID) async throws(OrchestratorError) -> RoomOwner? {
        if let owner = state.withLock({ $0.owners[id]?.owner }) { return owner }
        do {
            return try await load(id).map { makeOwner($0, isReader: true) }
        } catch {
            throw OrchestratorError(error)
        }
    }

    /// The reader of the room that this task is of.
    func reader(of task: TaskID) async throws(OrchestratorError) -> RoomOwner? {
        guard let room = services.taskIndex.room(of: task) ?? task.roomOfAutomatic else { return nil }
        return try await reader(room)
    }

    /// Those of at most `limit` rooms after this one, ordered by id.
    func readers(after id: RoomID?, limit: Int) async throws(OrchestratorError) -> [RoomOwner] {
        do {
            var readers: [RoomOwner] = []
            for room in try await services.store.rooms(after: id, limit: limit) {
                if let known = state.withLock({ $0.owners[room.document.id]?.owner }) {
                    readers.append(known)
                } else {
                    readers.append(makeOwner(try await load(room), isReader: true))
                }
            }
            return readers
        } catch {
            throw OrchestratorError(error)
        }
    }

    /// Those in memory whose tasks are on air or want to be.
    var busyOwners: [RoomOwner] {
        let rooms = services.quotas.busyRooms
        return state.withLock { state in rooms.compactMap { state.owners[$0]?.owner } }
    }

    /// Those in memory, ordered by room.
    var owners: [RoomOwner] {
        state.withLock { $0.owners.values.map(\.owner) }.sorted { $0.id < $1.id }
    }

    private enum Lookup {
        case found(RoomOwner)
        case isLoading, isMissing, isStopping
    }

    private func find(_ id: RoomID, makingNew: Bool) async throws(OrchestratorError) -> RoomOwner? {
        while true {
            switch lookUp(id) {
            case .found(let owner): return owner
            case .isStopping: throw .stopping
            case .isLoading: await loaded(id)
            case .isMissing:
                var stored: Stored?
                do {
                    stored = try await load(id)
                } catch {
                    finishLoading(id, nil)
                    throw OrchestratorError(error)
                }
                if makingNew { stored = stored ?? Stored(room: Versioned(Room(id: id), version: 0)) }
                let owner = stored.map { makeOwner($0) }
                guard finishLoading(id, owner) else { throw .stopping }
                return owner
            }
        }
    }

    private func lookUp(_ id: RoomID) -> Lookup {
        state.withLock { state in
            if state.isStopping { return .isStopping }
            if let owner = state.owners[id]?.owner {
                state.owners[id]?.round = state.round
                return .found(owner)
            }
            if state.loads[id] != nil { return .isLoading }
            state.loads[id] = []
            return .isMissing
        }
    }

    /// Returns when somebody else has read the room, or failed to.
    private func loaded(_ id: RoomID) async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                state.loads[id]?.append(continuation)
                return state.loads[id] == nil
            }
            if isOver { continuation.resume() }
        }
    }

    /// - Returns: False when `run` takes no owner any more: nobody would answer what is asked of this one.
    @discardableResult
    private func finishLoading(_ id: RoomID, _ owner: RoomOwner?) -> Bool {
        let (waiting, isTaken) = state.withLock { state in
            var isTaken = true
            if let owner {
                // Together: whoever finds an owner finds one that is run.
                if !state.isStopping, case .enqueued = arrival.yield(owner) {
                    state.owners[id] = Entry(owner: owner, round: state.round)
                } else {
                    isTaken = false
                }
            }
            return (state.loads.removeValue(forKey: id) ?? [], isTaken)
        }
        for continuation in waiting { continuation.resume() }
        return isTaken
    }

    // MARK: Reading the store

    private struct Stored {
        var room: Versioned<Room>
        var tasks: [Versioned<TaskMachine>] = []
    }

    /// `nil` when neither the room nor a task of it is stored. A task outlives its room until its relay has ended.
    private func load(_ id: RoomID) async throws(StoreError) -> Stored? {
        let room = try await services.store.room(id)
        let stored = try await load(room ?? Versioned(Room(id: id), version: 0))
        return room == nil && stored.tasks.isEmpty ? nil : stored
    }

    private func load(_ room: Versioned<Room>) async throws(StoreError) -> Stored {
        Stored(room: room, tasks: try await services.store.tasks(of: room.document.id))
    }

    private func makeOwner(_ stored: Stored, isReader: Bool = false) -> RoomOwner {
        RoomOwner(room: stored.room, tasks: stored.tasks, services: services, home: self, isReader: isReader)
    }

    /// Makes owners for every room with a task that has a relay or wants one; `run` has them adopted. The rooms in which
    /// somebody publishes for a program follow while the service already serves, all others when they are asked for. Call
    /// once, before `run`.
    func restore() async throws(StoreError) {
        for (app, usage) in try await services.store.usage() {
            services.quotas.count(rooms: usage.rooms, bytes: usage.bytes, of: app)
        }
        for (task, room) in try await services.store.roomsOfTasks() where task != .automatic(for: room) {
            _ = services.taskIndex.claim(task, for: room)
            services.quotas.hold(task, of: room)
        }
        let active = try await services.store.activeTasks()
        await LeftoverRelays(services).keepFormer(active.map(\.document.id), in: services.sockets)
        for id in Set(active.map(\.document.room)).sorted() {
            guard let stored = try await load(id) else { continue }
            finishLoading(id, makeOwner(stored))
        }
        let wanted = Set(active.map { services.sockets.path(of: $0.document.id) })
        let leftovers = await LeftoverRelays(services).clear(except: wanted)
        state.withLock { $0.leftovers = leftovers }
        services.logger.info("tasks restored", metadata: ["count": "\(active.count)"])
    }

    // MARK: Running

    func run() async throws {
        await withDiscardingTaskGroup { group in
            await withTaskGroup(of: Void.self) { chores in
                chores.addTask { await self.restoreLiveRooms() }
                chores.addTask {
                    await LeftoverRelays(self.services).drain(self.state.withLock { $0.leftovers })
                }
                chores.addTask { await self.wakeRooms() }
                chores.addTask {
                    while (try? await Task.sleep(for: Self.sweepInterval)) != nil { self.sweep() }
                }
                chores.addTask {
                    while (try? await Task.sleep(for: Self.tidyInterval)) != nil {
                        for owner in self.owners { owner.tidy() }
                        await self.forgetEmptyRooms()
                    }
                }
                await withGracefulShutdownHandler {
                    for await owner in arrivals { group.addTask { await self.run(owner) } }
                } onGracefulShutdown: {
                    self.stopTaking()
                }
                chores.cancelAll()
            }
            stopTaking()
            if !Task.isCancelled, !keepsRelays { await drain() }
            for owner in owners { owner.stop() }
            // Owners know their registry.
            state.withLock { $0.owners = [:] }
        }
    }

    /// In a new task after each folding; when no more are taken, in this one.
    private func run(_ owner: RoomOwner) async {
        while await owner.run() == .folded {
            if case .enqueued = arrival.yield(owner) { return }
        }
    }

    /// Has rooms look at what changed outside of them.
    private func wakeRooms() async {
        for await _ in services.needs.wakeUps {
            for (room, cause) in services.needs.takeWaiting() {
                do {
                    try await existingOwner(room)?.needsChanged(cause)
                } catch {
                    services.logger.error("room \(room) is not told that \(cause.summary): \(error)")
                }
            }
        }
    }

    private func stopTaking() {
        state.withLock { $0.isStopping = true }
        arrival.finish()
    }

    private func drain() async {
        var draining: [RoomOwner] = []
        for owner in owners where await owner.drainForShutdown() { draining.append(owner) }
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
