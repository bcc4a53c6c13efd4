import MixModel
import TaskStore

/// What follows a start, while the service already serves.
extension RoomRegistry {
    /// The rooms in which somebody publishes for a program, and those with explicit tasks: these are kept until they are
    /// forgotten.
    func restoreLiveRooms() async {
        do {
            let lives: [RoomLife] = services.defaultOutputs.isEmpty ? [.live] : [.live, .liveByDefault]
            for life in lives {
                try await forEachRoom(of: life) { room in _ = try await self.existingOwner(room.id) }
            }
            for id in services.taskIndex.allRooms { _ = try await existingOwner(id) }
            try await holdOutputsOfDormantRooms()
        } catch {
            // They are restored when they are asked for.
            services.logger.error("not all rooms are restored: \(error)")
        }
    }

    /// Where rooms push that are not in memory is theirs, too. Rooms that name nothing push nowhere unless outputs are
    /// configured.
    private func holdOutputsOfDormantRooms() async throws {
        for life in services.defaultOutputs.isEmpty ? [RoomLife.settled] : RoomLife.allCases {
            try await forEachRoom(of: life) { room in
                // It looks at the others once, and is told of what happens there from then on.
                if !(room.settings.program?.otherRooms.isEmpty ?? true) { _ = try await self.existingOwner(room.id) }
                let outputs = self.services.outputs(of: room)
                self.state.withLock { state in
                    guard state.owners[room.id] == nil, state.loads[room.id] == nil else { return }
                    self.services.outputs.hold(outputs, for: .automatic(for: room.id))
                }
            }
        }
    }

    /// A page at a time, however many there are.
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
