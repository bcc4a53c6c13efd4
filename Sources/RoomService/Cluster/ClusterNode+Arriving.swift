import EncodedMedia
import MixModel
import TaskStore

/// Rooms that other nodes move to this one.
extension ClusterNode {
    /// Maximum number of rooms prepared at once.
    static let mostArrivals = 16

    /// Carries out another node's order. The caller has verified that the sender is a node.
    package func answer(_ order: MoveOrder) async -> MoveAnswer {
        let known = arrivals.withLock { $0[order.room] }
        switch order.step {
        case .prepare:
            // A move that was called off may not have ended here yet.
            await known?.receive(.cancelled)
            arrivals.withLock { if $0[order.room] === known { $0[order.room] = nil } }
            do {
                let reason = try await prepare(order)
                return MoveAnswer(isDone: reason == nil, reason: reason)
            } catch {
                return MoveAnswer(isDone: false, reason: error.detail)
            }
        case .take:
            if let known { await known.receive(.told) }
            // Also if nothing was prepared, or the preparation took too long.
            if !has(order.room), await claim(order.room) == true {
                await registry.withLock { $0 }?.adopt(order.room)
                await arrived(order.room)
            }
            return MoveAnswer(isDone: has(order.room))
        case .cancel:
            await known?.receive(.cancelled)
            await belongings.withLock { $0 }?.dropHandover(of: order.room)
            return MoveAnswer(isDone: true)
        }
    }

    private func prepare(_ order: MoveOrder) async throws(OrchestratorError) -> String? {
        let room = order.room
        guard let registry = registry.withLock({ $0 }), !shutdown.hasBegun,
            machine.withLock({ $0.beginRequest(for: room) })
        else { return "it takes no rooms" }
        // From here on, the room has a place until its arrival has ended.
        var isOnItsWay = false
        defer { if !isOnItsWay { machine.withLock { $0.endRequest(for: room) } } }
        guard let (reader, plans) = try await registry.plansToPrepare(room) else { return "the room is not stored" }
        let arrival = RoomArrival(
            room, plans: plans, onAir: order.onAir, reader: reader, services: registry.services,
            node: RoomArrival.Node(
                claim: { await self.claim(room) }, look: { await self.isHolder(of: room) },
                adopt: {
                    await registry.adopt(room)
                    await self.arrived(room)
                }))
        let isTaken = arrivals.withLock { arrivals in
            guard arrivals.count < Self.mostArrivals, arrivals[room] == nil else { return false }
            arrivals[room] = arrival
            return true
        }
        guard isTaken else { return "too many rooms are on their way to it" }
        guard case .enqueued = arriving.yield(arrival) else {
            arrivals.withLock { $0[room] = nil }
            return "it is about to stop"
        }
        isOnItsWay = true
        return await arrival.readiness()
    }

    /// Prepares rooms and takes them over, until the service shuts down.
    func takeArrivals() async {
        await withDiscardingTaskGroup { group in
            for await arrival in arrivingRooms {
                group.addTask {
                    await arrival.run()
                    self.machine.withLock { $0.endRequest(for: arrival.room) }
                    self.arrivals.withLock { if $0[arrival.room] === arrival { $0[arrival.room] = nil } }
                    // The sender chooses the node of its next room by this.
                    try? await self.announce()
                }
            }
            group.cancelAll()
        }
    }

    /// Records a lease that another node has passed to this one.
    ///
    /// - Returns: Whether this node has the room; `nil` if the store does not answer.
    private func claim(_ room: RoomID) async -> Bool? {
        let asked = BootClock.now()
        let node = machine.withLock { $0.node }
        do {
            let leases = try await base.claim([.lease(of: room)], by: node, for: settings.lease)
            machine.withLock { $0.took(leases, askedAt: asked) }
            directory.forget(room)
            return has(room)
        } catch {
            logger.error("cannot take a room that was passed to this node: \(error)", metadata: ["room": "\(room)"])
            return nil
        }
    }

    private func isHolder(of room: RoomID) async -> Bool {
        let node = machine.withLock { $0.node }
        return (try? await base.holder(of: room)) == node
    }
}
