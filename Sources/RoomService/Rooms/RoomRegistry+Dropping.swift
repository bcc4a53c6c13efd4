import Synchronization

extension RoomRegistry: RoomHome {
    /// Takes note of an owner that could be dropped.
    func offer(_ owner: RoomOwner) { state.withLock { $0.offers.append(owner) } }

    /// Returns the owner after one that was dropped.
    func successor(of owner: RoomOwner) async throws(OrchestratorError) -> RoomOwner {
        try await self.owner(owner.id)
    }

    /// Drops the owners that have not been requested lately, and those of rooms that are gone.
    func sweep() {
        let dropped = state.withLock { state -> [RoomOwner] in
            state.round += 1
            let isCrowded = state.offers.count > Self.mostAtLeisure
            var later: [RoomOwner] = []
            var dropped: [RoomOwner] = []
            for owner in state.offers {
                guard let entry = state.owners[owner.id], entry.owner === owner else { continue }
                let rest = owner.isLive && !isCrowded ? Self.roundsOfRestWhileLive : Self.roundsOfRest
                if entry.round > state.round - rest, !owner.isGone {
                    later.append(owner)
                    if entry.round == state.round - Self.roundsUntilFolded { owner.fold() }
                } else if owner.retire() {
                    state.owners[owner.id] = nil
                    dropped.append(owner)
                }
            }
            state.offers = later
            return dropped
        }
        for owner in dropped { owner.stop() }
    }

    /// Number of rooms in memory.
    package var ownerCount: Int { state.withLock { $0.owners.count } }
}
