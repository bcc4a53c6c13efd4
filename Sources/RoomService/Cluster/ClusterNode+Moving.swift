import EncodedMedia
import MixModel
import TaskStore

/// Planned moves.
extension ClusterNode {
    /// Takes no more rooms, and moves those that it has to other nodes, one after another. Returns when all have moved, or none
    /// takes more.
    ///
    /// - Returns: The number of rooms that moved.
    @discardableResult
    package func drain() async throws(OrchestratorError) -> Int {
        machine.withLock { $0.drain(true) }
        do {
            try await announce()
            try await readRoster()
        } catch {
            throw OrchestratorError(error)
        }
        var moved = 0
        for room in machine.withLock({ $0.holdings.keys.sorted() }) where hasSuccessor {
            if await move(room) { moved += 1 }
        }
        return moved
    }

    /// Takes rooms again.
    package func endDrain() async throws(OrchestratorError) {
        machine.withLock { $0.drain(false) }
        do { try await announce() } catch { throw OrchestratorError(error) }
    }

    /// Whether another node would take a room.
    private var hasSuccessor: Bool {
        others.contains { entry in
            guard entry.isAtWork, let profile = entry.profile, !profile.isDraining else { return false }
            return profile.rooms < profile.capacity ?? .max
        }
    }

    private func move(_ room: RoomID) async -> Bool {
        guard machine.withLock({ $0.leave(room) }) else { return false }
        await registry.withLock { $0 }?.handOver(room)
        guard let lease = machine.withLock({ $0.left(room) }) else { return false }
        do {
            try await base.dismiss([lease], areWanted: true)
            directory.forget(room)
            logger.notice("a room goes to another node", metadata: ["room": "\(room)"])
            return true
        } catch {
            logger.error("a room cannot be given to another node before its lease has run out: \(error)")
            return false
        }
    }
}
