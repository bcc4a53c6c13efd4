import MixModel
import TaskStore

/// Restoring after a start, while the service is already serving requests.
extension RoomRegistry {
    /// Restores the rooms in which a participant is publishing for a program, and those with explicit tasks, which stay
    /// in memory until the tasks are removed.
    func restoreLiveRooms() async {
        do {
            if let homes = services.homes {
                // Other rooms are taken when they need a node. One that cannot be read holds up no other.
                for id in homes.rooms.sorted() { await adopt(id) }
                return
            }
            for life in livesToServe {
                try await forEachRoom(of: life) { room in _ = try await self.existingOwner(room.id) }
            }
            for id in services.taskIndex.allRooms { _ = try await existingOwner(id) }
            try await holdOutputsOfDormantRooms()
        } catch {
            // The other rooms are restored when they are requested.
            services.logger.error("not all rooms could be restored: \(error)")
        }
    }

    /// Claims the destinations of rooms that are not in memory. Rooms without outputs of their own push nowhere unless
    /// outputs are configured.
    private func holdOutputsOfDormantRooms() async throws {
        for life in services.defaultOutputs.isEmpty ? [RoomLife.settled] : RoomLife.allCases {
            try await forEachRoom(of: life) { room in
                // The room reads the other rooms once, and is notified of their changes from then on.
                if !(room.settings.program?.otherRooms.isEmpty ?? true) { _ = try await self.existingOwner(room.id) }
                let outputs = self.services.outputs(of: room)
                self.state.withLock { state in
                    guard state.owners[room.id] == nil, state.loads[room.id] == nil else { return }
                    self.services.destinations.hold(outputs, for: .automatic(for: room.id))
                }
            }
        }
    }

    /// Runs `body` for all rooms of a `RoomLife`, a page at a time, however many there are.
    private func forEachRoom(of life: RoomLife, _ body: (Room) async throws -> Void) async throws {
        var last: Int64 = 0
        while case let page = try await services.store.rooms(of: life, after: last, limit: 100), !page.isEmpty {
            for row in page {
                try await body(row.room)
                last = row.number
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}
