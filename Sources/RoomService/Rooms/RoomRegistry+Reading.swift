import MixModel
import TaskStore

/// Reading of rooms, whether they are in memory or not. Reading keeps nothing in memory.
extension RoomRegistry {
    /// Returns the state of the room; `nil` when the room is unknown.
    package func snapshot(_ id: RoomID) async throws(OrchestratorError) -> RoomState? {
        if let owner = ownerInMemory(id) { return await owner.snapshot }
        try await services.homes?.check(id)
        do {
            return try await load(id).map { RoomState(room: $0.room, tasks: $0.tasks) }
        } catch {
            throw OrchestratorError(error)
        }
    }

    /// Returns what is known of the room; of one that another node has, what is stored. `nil` when the room is unknown.
    package func shownState(of id: RoomID) async throws(OrchestratorError) -> RoomState? {
        if let owner = ownerInMemory(id) { return await owner.snapshot }
        do {
            return try await load(id).map { RoomState(room: $0.room, tasks: $0.tasks) }
        } catch {
            throw OrchestratorError(error)
        }
    }

    /// Returns whether another node may have the room.
    package func mayBeElsewhere(_ id: RoomID) -> Bool { services.homes.map { !$0.has(id) } ?? false }

    /// Ensures that no other node has the room.
    ///
    /// - Throws: `OrchestratorError` if another node has it, to which the request is passed on, or if the store cannot tell.
    package func checkHome(of id: RoomID) async throws(OrchestratorError) { try await services.homes?.check(id) }

    /// Returns the document of a room; of one that another node has, the document as stored. `nil` if the room is unknown.
    func document(of id: RoomID) async throws(OrchestratorError) -> Room? {
        if let owner = ownerInMemory(id) { return await owner.snapshot.room.document }
        do { return try await services.store.room(id)?.document } catch { throw OrchestratorError(error) }
    }

    /// Returns the state of the room to which this task belongs.
    package func snapshot(of task: TaskID) async throws(OrchestratorError) -> RoomState? {
        guard let room = try await findRoom(of: task) else { return nil }
        return try await snapshot(room)
    }

    /// Returns the states of at most `limit` stored rooms after this one, ordered by identifier.
    package func snapshots(after id: RoomID?, limit: Int) async throws(OrchestratorError) -> [RoomState] {
        do {
            var snapshots: [RoomState] = []
            for room in try await services.store.rooms(after: id, limit: limit) {
                if let owner = ownerInMemory(room.document.id) {
                    snapshots.append(await owner.snapshot)
                } else {
                    snapshots.append(RoomState(room: room, tasks: try await load(room).tasks))
                }
            }
            return snapshots
        } catch {
            throw OrchestratorError(error)
        }
    }

    /// Runs `body` for every room, a page at a time, however many there are.
    package func forEachRoom(_ body: (Room) -> Void) async throws(OrchestratorError) {
        var last: RoomID?
        do {
            while case let page = try await services.store.rooms(after: last, limit: 100), !page.isEmpty {
                for room in page {
                    if let owner = ownerInMemory(room.document.id) {
                        body(await owner.snapshot.room.document)
                    } else {
                        body(room.document)
                    }
                }
                last = page.last?.document.id
            }
        } catch {
            throw OrchestratorError(error)
        }
    }

    /// Returns the owner when it is in memory, and otherwise one that shows the stored state; `nil` when the room is
    /// unknown. Requests to such a reader go to the room's owner.
    package func reader(_ id: RoomID) async throws(OrchestratorError) -> RoomOwner? {
        if let owner = ownerInMemory(id) { return owner }
        try await services.homes?.check(id)
        do {
            return try await load(id).map { makeOwner($0, isReader: true) }
        } catch {
            throw OrchestratorError(error)
        }
    }

    /// Returns the reader of the room to which this task belongs.
    package func reader(of task: TaskID) async throws(OrchestratorError) -> RoomOwner? {
        guard let room = try await findRoom(of: task) else { return nil }
        return try await reader(room)
    }

    /// Makes the programs of a room show the current values. Rooms that are not in memory show none.
    func showValues(of room: RoomID) { ownerInMemory(room)?.valuesChanged() }

    func ownerInMemory(_ id: RoomID) -> RoomOwner? { state.withLock { $0.owners[id]?.owner } }

    /// Returns the room of a task, including tasks that another node created.
    private func findRoom(of task: TaskID) async throws(OrchestratorError) -> RoomID? {
        try await roomOfExplicit(task) ?? task.roomOfAutomatic
    }

    /// Returns the room of an explicit task, which another node may have created.
    package func roomOfExplicit(_ task: TaskID) async throws(OrchestratorError) -> RoomID? {
        let known = services.taskIndex.room(of: task)
        guard let homes = services.homes, task.roomOfAutomatic == nil, known.map({ !homes.has($0) }) ?? true else {
            return known
        }
        // A task that is known of another node's room may have ended there, and its identifier may be used again.
        do {
            return try await services.store.task(task)?.document.room
        } catch {
            throw OrchestratorError(error)
        }
    }

    /// Returns the room of a task.
    func room(of task: TaskID) -> RoomID? { services.taskIndex.room(of: task) ?? task.roomOfAutomatic }
}
