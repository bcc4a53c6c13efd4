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

    /// Ends a room's relays in good order for another node, and forgets the room.
    func handOver(_ room: RoomID) async {
        let owner = state.withLock { $0.owners.removeValue(forKey: room)?.owner }
        await owner?.leave()
    }
}
