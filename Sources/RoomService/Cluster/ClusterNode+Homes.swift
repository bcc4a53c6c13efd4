import EncodedMedia
import MixModel
import TaskStore

extension ClusterNode: RoomHomes {
    package func has(_ room: RoomID) -> Bool { machine.withLock { $0.holdings[room] != nil } }

    package var rooms: Set<RoomID> { machine.withLock { Set($0.holdings.keys) } }

    package var ingestPlaces: [IngestPlace] { ingests.withLock { $0 } }

    package func enter(_ room: RoomID) async throws(OrchestratorError) {
        await awaitMove(of: room)
        let asked = BootClock.now()
        if machine.withLock({ $0.use(room, at: asked) }) { return }
        if machine.withLock({ $0.isLeaving(room) }) { throw .moving(room.rawValue) }
        // Asked first, because most rooms that are not here have a node.
        if let other = try await otherHolder(of: room) { throw elsewhere(room, other) }
        // Another request may have taken it in the meantime.
        if machine.withLock({ $0.use(room, at: asked) }) { return }
        // A room whose publisher has connected to this node stays here, and so does one that another node has sent.
        if NodeForwarding.current?.mayYield ?? false, yieldsRooms, let other = bestOther {
            throw elsewhere(room, other)
        }
        guard !shutdown.hasBegun, await beginRequest(for: room) else {
            guard let other = bestOther else { throw .noNode(room.rawValue) }
            throw elsewhere(room, other)
        }
        defer { machine.withLock { $0.endRequest(for: room) } }
        do {
            let node = machine.withLock { $0.node }
            let leases = try await base.claim([.lease(of: room)], by: node, for: settings.lease)
            machine.withLock { $0.took(leases, askedAt: asked) }
            directory.forget(room)
        } catch {
            throw OrchestratorError(error)
        }
        if machine.withLock({ $0.use(room, at: asked) }) { return }
        // Another node was faster.
        guard let other = try await otherHolder(of: room) else { throw .moving(room.rawValue) }
        throw elsewhere(room, other)
    }

    package func check(_ room: RoomID) async throws(OrchestratorError) {
        if has(room) { return }
        if let other = try await otherHolder(of: room, isFreshWanted: false) { throw elsewhere(room, other) }
    }

    /// Longest time for which a request waits for a move to end.
    private static let patience: Duration = .seconds(4)

    /// Waits while the room moves to another node, which takes a fraction of a second.
    private func awaitMove(of room: RoomID) async {
        let limit = ContinuousClock.now + Self.patience
        while machine.withLock({ $0.isLeaving(room) }), ContinuousClock.now < limit {
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return }
        }
    }

    /// Begins to ask the store for a room. Waits while places are reserved for rooms that the node may not get.
    ///
    /// - Returns: False if the node does not take the room.
    private func beginRequest(for room: RoomID) async -> Bool {
        let limit = ContinuousClock.now + Self.patience
        while true {
            let (isBegun, isTaking) = machine.withLock { ($0.beginRequest(for: room), $0.isTaking) }
            if isBegun || !isTaking || ContinuousClock.now >= limit { return isBegun }
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return false }
        }
    }

    /// Returns the other node that has the room; `nil` if no other node has it.
    func otherHolder(
        of room: RoomID, isFreshWanted: Bool = true
    ) async throws(OrchestratorError) -> NodeProfile? {
        let now = BootClock.now()
        let found: NodeID?
        do {
            if !isFreshWanted, let known = directory.holder(of: room, at: now) {
                found = known
            } else {
                found = try await base.holder(of: room)
                directory.note(found, of: room, at: now)
            }
            guard let node = found, node != machine.withLock({ $0.node }) else { return nil }
            if let profile = profile(of: node) { return profile }
            // The node joined after the roster was read.
            try await readRoster()
        } catch {
            throw OrchestratorError(error)
        }
        guard let profile = profile(of: found) else { throw .moving(room.rawValue) }
        return profile
    }

    private func profile(of node: NodeID?) -> NodeProfile? {
        roster.withLock { $0.first { $0.node.id == node }?.profile }
    }

    private func elsewhere(_ room: RoomID, _ node: NodeProfile) -> OrchestratorError {
        NodeForwarding.current?.note(node)
        return .elsewhere(room.rawValue, node)
    }
}

extension OrchestratorError {
    fileprivate static func noNode(_ room: String) -> OrchestratorError {
        OrchestratorError(
            .unavailable, "no-node", "No node takes the room",
            detail:
                "every node is full or about to stop (GET /v1/nodes): start another one, or raise node.maxRooms",
            retryAfter: 5)
    }
}
