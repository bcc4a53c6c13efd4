import MixModel
import TaskStore

/// Rooms that come from other nodes of a cluster, and go there.
extension RoomRegistry {
    /// Lives of rooms that need a node although nobody asks for them.
    var livesToServe: [RoomLife] { services.defaultOutputs.isEmpty ? [.live] : [.live, .liveByDefault] }

    /// Rooms in memory, and those that are being read.
    var roomsInMemory: Set<RoomID> { state.withLock { Set($0.owners.keys).union($0.loads.keys) } }

    /// Goes on with a room that had no node: its relays are started.
    func adopt(_ room: RoomID) async {
        do {
            _ = try await existingOwner(room)
        } catch {
            services.logger.error("the room \(room) cannot be taken over: \(error)")
        }
    }

    /// Gives rooms up that other nodes have: kills their relays and forgets them.
    func abandon(_ rooms: Set<RoomID>) async {
        let owners = state.withLock { state in rooms.compactMap { state.owners.removeValue(forKey: $0)?.owner } }
        await withDiscardingTaskGroup { group in
            for owner in owners { group.addTask { await owner.abandon() } }
        }
    }

    // MARK: Moves

    /// Returns what the room's relays have on air, by task.
    func programsOnAir(of room: RoomID) async -> [TaskID: OnAir] {
        await ownerInMemory(room)?.programsOnAir ?? [:]
    }

    /// Whether relays run for the room, or are wanted.
    func hasPrograms(_ room: RoomID) async -> Bool { await ownerInMemory(room)?.hasPrograms ?? false }

    /// Takes a room's owner out for a move; `endMove` or the owner's `leave` follows.
    func beginMove(_ room: RoomID) -> RoomOwner? {
        state.withLock { $0.owners.removeValue(forKey: room)?.owner }
    }

    /// Puts back the owner of a room that stays.
    ///
    /// - Returns: False if the service stops.
    func endMove(_ owner: RoomOwner) -> Bool {
        state.withLock { state in
            guard !state.isStopping else { return false }
            state.owners[owner.id] = Entry(owner: owner, round: state.round)
            return true
        }
    }

    /// Returns the plans with which relays can be made ready for a room of another node, and the owner that made them, who is
    /// not run.
    func plansToPrepare(_ room: RoomID) async throws(OrchestratorError) -> (reader: RoomOwner, plans: [ProgramPlan])? {
        let stored: Stored?
        do { stored = try await load(room) } catch { throw OrchestratorError(error) }
        guard let reader = stored.map({ makeOwner($0, isReader: true) }) else { return nil }
        return (reader, await reader.plansToPrepare())
    }

    /// Ends a room's relays in good order for another node, and forgets the room.
    func handOver(_ room: RoomID) async {
        let owner = state.withLock { $0.owners.removeValue(forKey: room)?.owner }
        await owner?.leave()
    }
}
