import MixModel
import TaskStore

/// Rooms that arrive from other nodes of a cluster, and leave for them.
extension RoomRegistry {
    /// Kinds of rooms that need a node even without requests.
    var livesToServe: [RoomLife] { services.defaultOutputs.isEmpty ? [.live] : [.live, .liveByDefault] }

    /// Rooms in memory, and those that are being read.
    var roomsInMemory: Set<RoomID> { state.withLock { Set($0.owners.keys).union($0.loads.keys) } }

    /// Continues a room that had no node by starting its relays. If the store cannot be read, `adoptRemaining` tries
    /// again: the room has no other node meanwhile.
    func adopt(_ room: RoomID) async {
        do {
            _ = try await existingOwner(room)
            state.withLock { _ = $0.unadopted.remove(room) }
        } catch {
            let isNew = state.withLock { state in !state.isStopping && state.unadopted.insert(room).inserted }
            if isNew { services.logger.error("the room \(room) cannot be taken over: \(error)") }
        }
    }

    /// Continues the rooms that could not be read when they were taken over, if this node still has them.
    func adoptRemaining() async {
        for room in state.withLock({ $0.unadopted.sorted() }) {
            if services.homes?.has(room) ?? false {
                await adopt(room)
            } else {
                state.withLock { _ = $0.unadopted.remove(room) }
            }
        }
    }

    /// Gives up rooms that other nodes have: kills their relays and drops them from memory.
    func abandon(_ rooms: Set<RoomID>) async {
        let owners = state.withLock { state in rooms.compactMap { state.owners.removeValue(forKey: $0)?.owner } }
        await withDiscardingTaskGroup { group in
            for owner in owners { group.addTask { await owner.abandon() } }
        }
    }

    // MARK: Moves

    /// Returns the feeds on air in the room's relays, by task.
    func programsOnAir(of room: RoomID) async -> [TaskID: OnAir] {
        await ownerInMemory(room)?.programsOnAir ?? [:]
    }

    /// Returns whether relays run for the room, or are wanted.
    func hasPrograms(_ room: RoomID) async -> Bool { await ownerInMemory(room)?.hasPrograms ?? false }

    /// Removes a room's owner for a move. The caller then calls `endMove`, or the owner's `leave`.
    func beginMove(_ room: RoomID) -> RoomOwner? {
        state.withLock { $0.owners.removeValue(forKey: room)?.owner }
    }

    /// Restores the owner of a room that stays.
    ///
    /// - Returns: False if the service is stopping.
    func endMove(_ owner: RoomOwner) -> Bool {
        state.withLock { state in
            guard !state.isStopping else { return false }
            state.owners[owner.id] = Entry(owner: owner, round: state.round)
            return true
        }
    }

    /// Returns the plans for preparing relays for a room of another node, and the owner that made the plans, which is
    /// not run.
    func plansToPrepare(_ room: RoomID) async throws(OrchestratorError) -> (reader: RoomOwner, plans: [ProgramPlan])? {
        let stored: Stored?
        do { stored = try await load(room) } catch { throw OrchestratorError(error) }
        guard let reader = stored.map({ makeOwner($0, isReader: true) }) else { return nil }
        return (reader, await reader.plansToPrepare())
    }

    /// Ends a room's relays gracefully for another node, and drops the room from memory.
    func handOver(_ room: RoomID) async {
        let owner = state.withLock { $0.owners.removeValue(forKey: room)?.owner }
        await owner?.leave()
    }
}
