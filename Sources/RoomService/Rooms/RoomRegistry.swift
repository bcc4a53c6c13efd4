import EventSubscription
import Logging
import MixModel
import ServiceLifecycle
import Synchronization
import TaskStore

/// Finds the owner of every room and runs the owners. Thread-safe.
///
/// Only active rooms are in memory. An owner that could be dropped is dropped when it has had no requests for a while,
/// and created again from the store at the next request.
package final class RoomRegistry: Service {
    package let services: RoomServices
    private let keepsRelays: Bool
    private let arrivals: AsyncStream<RoomOwner>
    private let arrival: AsyncStream<RoomOwner>.Continuation
    let state = Mutex(State())

    struct State {
        var owners: [RoomID: Entry] = [:]
        /// Rooms that are being read, with the callers that wait for them.
        var loads: [RoomID: [CheckedContinuation<Void, Never>]] = [:]
        /// Rooms of this node of a cluster that could not be read yet.
        var unadopted: Set<RoomID> = []
        /// Owners that could be dropped.
        var offers: [RoomOwner] = []
        /// Number of sweeps.
        var round = 0
        /// Number of the last room that was examined for being empty.
        var forgottenUpTo: Int64 = 0
        /// The last task that was examined for having ended at another node.
        var tasksForgottenUpTo: TaskID?
        /// Sockets of relays that no task wants.
        var leftovers: [String] = []
        var isStopping = false
    }
    struct Entry {
        let owner: RoomOwner
        /// Sweep before which the owner last had a request.
        var round: Int
    }

    /// Maximum time for which a shutdown waits for relays to end. It is longer than the time after which the last of
    /// them is killed.
    static let drainLimit: Duration = .seconds(7)
    /// Time between two sweeps.
    static let sweepInterval: Duration = .milliseconds(250)
    /// Number of sweeps for which an owner stays after its last request, unless its room is gone.
    static let roundsOfRest = 8
    /// Number of sweeps for which the owner of a live room stays, while at most `mostAtLeisure` owners could be
    /// dropped: the room's next event is likely.
    static let roundsOfRestWhileLive = 240
    static let mostAtLeisure = 8192
    /// Number of sweeps after which an owner that stays frees the memory of its last change.
    static let roundsUntilFolded = 2

    /// Number of task groups that run the owners. Removing a child from a group takes time that grows with the number
    /// of its children, so that one group for thousands of owners would cost more than their work.
    private static let groups = 64

    /// Time between two attempts to read rooms that were taken over.
    static let adoptionInterval: Duration = .seconds(1)
    /// Time between two passes that remove ended tasks.
    static let tidyInterval: Duration = .seconds(60)

    /// - Parameter keepsRelays: Whether relays stay on air when the service shuts down.
    package init(services: RoomServices, keepsRelays: Bool) {
        self.services = services
        self.keepsRelays = keepsRelays
        (arrivals, arrival) = AsyncStream.makeStream()
    }

    // MARK: Finding

    /// Returns the room's owner, creating one when there is none.
    ///
    /// - Throws: `OrchestratorError` when the store cannot be read, or the service is stopping.
    package func owner(_ id: RoomID) async throws(OrchestratorError) -> RoomOwner {
        while true {
            if let owner = try await find(id, makingNew: true) { return owner }
        }
    }

    /// Returns the room's owner; `nil` when the room is unknown.
    package func existingOwner(_ id: RoomID) async throws(OrchestratorError) -> RoomOwner? {
        try await find(id, makingNew: false)
    }

    /// Owners in memory whose tasks are on air or want to be.
    package var busyOwners: [RoomOwner] {
        let rooms = services.quotas.busyRooms
        return state.withLock { state in rooms.compactMap { state.owners[$0]?.owner } }
    }

    /// Owners in memory, ordered by room.
    package var owners: [RoomOwner] {
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
                let stored: Stored?
                do throws(OrchestratorError) {
                    stored = try await open(id, makingNew: makingNew)
                } catch {
                    finishLoading(id, nil)
                    throw error
                }
                let owner = stored.map { makeOwner($0) }
                guard finishLoading(id, owner) else { throw .stopping }
                // A move that was called off has restored the owner, so this one is not used.
                if let owner, let present = ownerInMemory(id), present !== owner { return present }
                if owner != nil, services.homes?.has(id) == false {
                    // The room was lost while it was read.
                    await abandon([id])
                    continue
                }
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

    /// Returns when another caller has read the room, or failed to.
    private func loaded(_ id: RoomID) async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                state.loads[id]?.append(continuation)
                return state.loads[id] == nil
            }
            if isOver { continuation.resume() }
        }
    }

    /// - Returns: False when `run` accepts no more owners, so that requests to this one would not be answered.
    @discardableResult
    private func finishLoading(_ id: RoomID, _ owner: RoomOwner?) -> Bool {
        let (waiting, isTaken) = state.withLock { state in
            var isTaken = true
            if let owner {
                // Under one lock, so that an owner that can be found is also run.
                if state.owners[id] != nil {
                    isTaken = true
                } else if !state.isStopping, case .enqueued = arrival.yield(owner) {
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

    struct Stored {
        var room: Versioned<Room>
        var tasks: [Versioned<TaskMachine>] = []
    }

    /// Reads a room for an owner, and ensures that it belongs to this node.
    private func open(_ id: RoomID, makingNew: Bool) async throws(OrchestratorError) -> Stored? {
        do {
            if let homes = services.homes {
                // A room that does not exist is not taken.
                if !makingNew {
                    try await homes.check(id)
                    guard try await load(id) != nil else { return nil }
                }
                try await homes.enter(id)
            }
            return try await load(id) ?? (makingNew ? Stored(room: Versioned(Room(id: id), version: 0)) : nil)
        } catch let error as OrchestratorError {
            throw error
        } catch let error as StoreError {
            throw OrchestratorError(error)
        } catch {
            throw .stopping
        }
    }

    /// Returns the stored room with its tasks; `nil` when neither is stored. A task outlives its room until its relay
    /// has ended.
    func load(_ id: RoomID) async throws(StoreError) -> Stored? {
        let room = try await services.store.room(id)
        let stored = try await load(room ?? Versioned(Room(id: id), version: 0))
        return room == nil && stored.tasks.isEmpty ? nil : stored
    }

    func load(_ room: Versioned<Room>) async throws(StoreError) -> Stored {
        Stored(room: room, tasks: try await services.store.tasks(of: room.document.id))
    }

    func makeOwner(_ stored: Stored, isReader: Bool = false) -> RoomOwner {
        RoomOwner(room: stored.room, tasks: stored.tasks, services: services, home: self, isReader: isReader)
    }

    /// Creates owners for every room with a task that has or wants a relay; `run` then adopts the relays. Rooms in
    /// which a participant is publishing for a program follow while the service is already serving requests, all others
    /// when they are requested. Call once, before `run`.
    package func restore() async throws(StoreError) {
        for (app, usage) in try await services.store.usage() {
            services.quotas.count(rooms: usage.rooms, bytes: usage.bytes, of: app)
        }
        for (task, room) in try await services.store.roomsOfTasks() where task != .automatic(for: room) {
            _ = services.taskIndex.claim(task, for: room)
            // The owner of another node's room never says that the task has ended.
            if services.homes?.has(room) ?? true { services.quotas.hold(task, of: room) }
        }
        let active = try await services.store.activeTasks().filter { services.homes?.has($0.document.room) ?? true }
        await leftoverRelays.keepFormer(active.map(\.document.id), in: services.sockets)
        for id in Set(active.map(\.document.room)).sorted() {
            guard let stored = try await load(id) else { continue }
            finishLoading(id, makeOwner(stored))
        }
        let wanted = Set(active.map { services.sockets.path(of: $0.document.id) })
        let leftovers = await leftoverRelays.clear(except: wanted)
        state.withLock { $0.leftovers = leftovers }
        services.logger.info("tasks restored", metadata: ["count": "\(active.count)"])
    }

    private var leftoverRelays: LeftoverRelays {
        LeftoverRelays(
            sockets: services.sockets, starter: services.starter, starts: services.relayStarts,
            logger: services.logger)
    }

    // MARK: Running

    package func run() async throws {
        await withDiscardingTaskGroup { group in
            let lanes = (0..<Self.groups).map { _ in AsyncStream.makeStream(of: RoomOwner.self) }
            for lane in lanes { group.addTask { await self.run(lane.stream) } }
            await withTaskGroup(of: Void.self) { chores in
                chores.addTask { await self.restoreLiveRooms() }
                chores.addTask {
                    await self.leftoverRelays.drain(self.state.withLock { $0.leftovers })
                }
                chores.addTask { await self.wakeRooms() }
                chores.addTask {
                    while (try? await Task.sleep(for: Self.sweepInterval)) != nil { await self.sweep() }
                }
                chores.addTask {
                    while (try? await Task.sleep(for: Self.adoptionInterval)) != nil { await self.adoptRemaining() }
                }
                chores.addTask {
                    while (try? await Task.sleep(for: Self.tidyInterval)) != nil {
                        for owner in self.owners { owner.tidy() }
                        await self.forgetEmptyRooms()
                        await self.forgetEndedTasks()
                    }
                }
                await withGracefulShutdownHandler {
                    var turn = 0
                    for await owner in arrivals {
                        if case .enqueued = lanes[turn].continuation.yield(owner) {
                            turn = (turn + 1) % lanes.count
                        } else {
                            // The lanes are cancelled. Requests that wait in the owner's mailbox must still be
                            // answered.
                            group.addTask { await self.run(owner) }
                        }
                    }
                } onGracefulShutdown: {
                    self.stopTaking()
                }
                chores.cancelAll()
            }
            for lane in lanes { lane.continuation.finish() }
            stopTaking()
            if !Task.isCancelled, !keepsRelays { await drain() }
            for owner in owners { owner.stop() }
            // Breaks the reference cycle: owners refer to their registry.
            state.withLock { $0.owners = [:] }
        }
    }

    /// Runs owners as they arrive, until no more can arrive and the last one has ended.
    private func run(_ owners: AsyncStream<RoomOwner>) async {
        await withDiscardingTaskGroup { group in
            for await owner in owners { group.addTask { await self.run(owner) } }
        }
    }

    /// Runs an owner, in a new task after each folding. When no more owners are accepted, it continues in this task.
    private func run(_ owner: RoomOwner) async {
        while await owner.run() == .folded {
            if case .enqueued = arrival.yield(owner) { return }
        }
    }

    /// Makes rooms process changes outside of them.
    private func wakeRooms() async {
        for await _ in services.needs.wakeUps {
            for (room, cause) in services.needs.takeWaiting() {
                do {
                    try await existingOwner(room)?.needsChanged(cause)
                } catch {
                    services.logger.error("cannot tell room \(room) that \(cause.summary): \(error)")
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
        if !draining.isEmpty { services.logger.info("draining relays", metadata: ["count": "\(draining.count)"]) }
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
