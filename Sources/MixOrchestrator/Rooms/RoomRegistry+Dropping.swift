import Synchronization

extension RoomRegistry: RoomHome {
    /// The owner could be dropped.
    func offer(_ owner: RoomOwner) { state.withLock { $0.offers.append(owner) } }

    /// The owner after one that was dropped.
    func successor(of owner: RoomOwner) async throws(OrchestratorError) -> RoomOwner {
        try await self.owner(owner.id)
    }

    /// Drops the owners that nobody asked for lately, and those of rooms that are gone.
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

    /// How many rooms are in memory.
    var ownerCount: Int { state.withLock { $0.owners.count } }
}
