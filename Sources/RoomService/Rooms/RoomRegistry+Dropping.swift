import Synchronization

extension RoomRegistry: RoomHome {
    /// Records an owner that could be dropped.
    func offer(_ owner: RoomOwner) { state.withLock { $0.offers.append(owner) } }

    /// Returns the successor of an owner that was dropped.
    func successor(of owner: RoomOwner) async throws(OrchestratorError) -> RoomOwner {
        try await self.owner(owner.id)
    }

    /// Number of owners that are asked to fold or to end before others get their turn.
    private static let atOnce = 8

    /// Drops the owners that have had no requests lately, and those of deleted rooms. Folds owners that stay.
    ///
    /// Works on a few owners at a time: each one's work waits in the executor's queue, and requests would wait behind
    /// that of thousands. Continues when it is cancelled, because dropped owners must end.
    func sweep() async {
        let (resting, dropped) = state.withLock { $0.sweep() }
        for (index, owner) in resting.enumerated() {
            owner.fold()
            if index % Self.atOnce == 0 { await Task.yield() }
        }
        for (index, owner) in dropped.enumerated() {
            owner.stop()
            if index % Self.atOnce == 0 { await Task.yield() }
        }
    }

    /// Number of rooms in memory.
    package var ownerCount: Int { state.withLock { $0.owners.count } }
}

extension RoomRegistry.State {
    /// Begins a round and removes the owners whose time is over.
    ///
    /// - Returns: Owners to fold, and owners that now refuse requests and must be stopped.
    fileprivate mutating func sweep() -> (resting: [RoomOwner], dropped: [RoomOwner]) {
        round += 1
        let isCrowded = offers.count > RoomRegistry.mostAtLeisure
        var resting: [RoomOwner] = []
        var dropped: [RoomOwner] = []
        offers = offers.filter { owner in
            guard let entry = owners[owner.id], entry.owner === owner else { return false }
            let rest = owner.isLive && !isCrowded ? RoomRegistry.roundsOfRestWhileLive : RoomRegistry.roundsOfRest
            if entry.round > round - rest, !owner.isGone {
                if entry.round == round - RoomRegistry.roundsUntilFolded { resting.append(owner) }
                return true
            }
            if owner.retire() {
                owners[owner.id] = nil
                dropped.append(owner)
            }
            return false
        }
        return (resting, dropped)
    }
}
