import MixModel

extension MemoryTaskStore {
    public func announce(_ node: NodeID, _ profile: NodeProfile) async throws(StoreError) {
        try access { state, _ throws(StoreError) in try state.leases.announce(node, profile) }
    }

    public func roster() async throws(StoreError) -> [NodeEntry] {
        try access { state, time in state.leases.roster(at: time) }
    }

    public func time() async throws(StoreError) -> Double? { nil }

    public func holder(of room: RoomID) async throws(StoreError) -> NodeID? {
        try access { state, time in state.leases.holder(of: .lease(of: room), at: time) }
    }

    public func claimRooms(
        of lives: [RoomLife], by node: NodeID, limit: Int, for duration: Duration
    ) async throws(StoreError) -> [Lease] {
        try access { state, time throws(StoreError) in
            _ = try state.leases.renew(node, at: time, until: time + duration.seconds)
            let active = state.tasks.values.filter(\.document.isActive).map(\.document.room)
            let live = state.rooms.values.map(\.document).filter { lives.contains($0.life) }.map(\.id)
            let wanted = Set(active + live + state.leases.orphans(at: time)).map { TaskID.lease(of: $0) }
            let free = wanted.filter { state.leases.isFree($0, at: time) }.sorted()
            return state.leases.claim(Array(free.prefix(limit)), by: node, at: time)
        }
    }

    public func dismiss(_ leases: [Lease], areWanted: Bool) async throws(StoreError) {
        try access { state, _ in state.leases.dismiss(leases, areWanted: areWanted) }
    }

    public func pass(_ lease: Lease, to receiver: NodeID) async throws(StoreError) -> PassOutcome {
        try access { state, time in state.leases.pass(lease, to: receiver, at: time) }
    }

    public func forgetLeases(limit: Int) async throws(StoreError) -> Int {
        try access { state, _ in
            let busy = Set(state.rooms.values.map(\.document.id) + state.tasks.values.map(\.document.room))
            return state.leases.forget(except: busy, limit: limit)
        }
    }

    public func inherit(from earlier: NodeID, by node: NodeID) async throws(StoreError) -> [Lease] {
        try access { state, time throws(StoreError) in
            try state.leases.inherit(from: earlier, by: node, at: time)
            return state.leases.leases(of: node)
        }
    }
}
