import EncodedMedia
import MixModel
import TaskStore

/// Planned moves to other nodes.
extension ClusterNode {
    /// The result of a drain.
    package struct Drained: Hashable, Sendable {
        /// A room that is still here, and the reason.
        package struct Kept: Hashable, Codable, Sendable {
            package var room: String
            package var reason: String
        }
        /// Number of rooms that moved.
        package var moved = 0
        /// Rooms that did not move; the first `mostKept` of them.
        package var kept: [Kept] = []

        package init() {}

        static let mostKept = 100

        mutating func keep(_ room: RoomID, _ reason: String) {
            if kept.count < Self.mostKept { kept.append(Kept(room: room.rawValue, reason: reason)) }
        }
    }

    /// A caller of `drain` who waits for the outcome.
    struct DrainRequest: Sendable {
        let continuation: CheckedContinuation<Result<Drained, OrchestratorError>, Never>
        /// Time after which no further move begins; `nil` = no limit.
        let end: ContinuousClock.Instant?
    }

    /// Takes no more rooms and moves those it has to other nodes, one after another. `run` does the work, even if the
    /// caller goes away. Returns when all rooms have moved, or no other node takes more.
    ///
    /// - Parameter limit: Time after which no further move begins; `nil` = no limit.
    @discardableResult
    package func drain(within limit: Duration? = nil) async throws(OrchestratorError) -> Drained {
        machine.withLock { $0.drain(true) }
        let end = limit.map { ContinuousClock.now + $0 }
        // A service that is asked to stop does not wait for the end of a drain without a limit.
        if let end { drainEnd.withLock { $0 = min($0 ?? end, end) } }
        typealias Outcome = Result<Drained, OrchestratorError>
        return try await withCheckedContinuation { (continuation: CheckedContinuation<Outcome, Never>) in
            let queued = drainRequest.yield(DrainRequest(continuation: continuation, end: end))
            if case .enqueued = queued { return }
            continuation.resume(returning: .success(Drained()))
        }.get()
    }

    /// Takes rooms again.
    package func endDrain() async throws(OrchestratorError) {
        machine.withLock { $0.drain(false) }
        drainEnd.withLock { $0 = nil }
        do { try await announce() } catch { throw OrchestratorError(error) }
    }

    /// Moves rooms on request, until the service shuts down.
    func moveRooms() async {
        for await request in drainRequests {
            do throws(StoreError) {
                try await announce()
                try await readRoster()
                let drained = await moveAll(until: request.end)
                await sendPublishersAway(until: request.end)
                request.continuation.resume(returning: .success(drained))
            } catch {
                request.continuation.resume(returning: .failure(OrchestratorError(error)))
            }
        }
    }

    private func moveAll(until end: ContinuousClock.Instant?) async -> Drained {
        var drained = Drained()
        var wary: Set<NodeID> = []
        for room in machine.withLock({ $0.holdings.keys.sorted() }) {
            guard machine.withLock({ $0.isDraining && $0.holdings[room] != nil }), !shutdown.hasBegun else { continue }
            let last = [end, drainEnd.withLock { $0 }].compactMap(\.self).min()
            if let last, ContinuousClock.now >= last {
                drained.keep(room, "the time limit for moving rooms is over")
                continue
            }
            if let reason = await moveAway(room, until: last, wary: &wary) {
                drained.keep(room, reason)
            } else {
                drained.moved += 1
            }
        }
        return drained
    }

    /// Longest time for which a drain waits for the publishers that were asked to reconnect: those that can, leave at a
    /// keyframe.
    private static let departure: Duration = .seconds(10)

    /// Asks the publishers of this node's ingest to reconnect, so that they do not lose their connections when it ends.
    private func sendPublishersAway(until end: ContinuousClock.Instant?) async {
        guard machine.withLock({ $0.isDraining }), !shutdown.hasBegun, others.contains(where: \.isAtWork),
            let streams = localStreams.withLock({ $0 })
        else { return }
        let begun = ContinuousClock.now
        // A stop, and the end of the drain, do not wait for them.
        let left = await streams.sendPublishersAway {
            let last = [end, self.drainEnd.withLock { $0 }, begun + Self.departure].compactMap(\.self).min()
            guard let last, ContinuousClock.now < last, !self.shutdown.hasBegun else { return false }
            return self.machine.withLock { $0.isDraining }
        }
        if left > 0 { logger.notice("\(left) publishers are still here, although they were asked to reconnect") }
    }

    /// Time after which a refusal is final for a room: a node that has tried for longer shows that the room is hard to
    /// prepare, and the rooms behind it have to wait. It is longer than two connections to a machine that does not answer
    /// (`NodeExchange`).
    private static let quickRefusal: Duration = .seconds(6)

    /// Moves a room to the best node that accepts it.
    ///
    /// - Parameter wary: Nodes that have refused a room in this drain; those that refuse this one are added.
    /// - Returns: The reason why the room is still here; `nil` if it is not.
    private func moveAway(
        _ room: RoomID, until end: ContinuousClock.Instant?, wary: inout Set<NodeID>
    ) async -> String? {
        try? await readRoster()
        var refusal = "no other node takes rooms"
        for entry in await receivers(for: room, wary: wary) {
            guard let profile = entry.profile else { continue }
            let begun = ContinuousClock.now
            guard end.map({ begun < $0 }) ?? true, !shutdown.hasBegun, machine.withLock({ $0.isDraining }) else {
                break
            }
            switch await move(room, to: entry.node, profile, until: end) {
            case .moved, .lost, .unsupported:
                logger.notice("a room went to another node", metadata: ["room": "\(room)", "to": "\(profile.name)"])
                return nil
            case .kept(let reason):
                logger.warning("a room stays: \(reason)", metadata: ["room": "\(room)", "to": "\(profile.name)"])
                return reason
            case .refused(let reason):
                logger.warning(
                    "a node refuses a room: \(reason)", metadata: ["room": "\(room)", "by": "\(profile.name)"])
                wary.insert(entry.node.id)
                refusal = reason
                guard ContinuousClock.now - begun < Self.quickRefusal else { return refusal }
            }
        }
        return refusal
    }

    private func move(
        _ room: RoomID, to receiver: Node, _ profile: NodeProfile, until end: ContinuousClock.Instant?
    ) async -> MoveMachine.Outcome {
        guard let registry = registry.withLock({ $0 }) else { return .kept("the node is not running yet") }
        let hasPrograms = await registry.hasPrograms(room)
        let hasBelongings = await belongings.withLock { $0 }?.rooms.contains(room) ?? false
        if hasPrograms || hasBelongings, let messenger = messenger.withLock({ $0 }) {
            var move = RoomMove(room, to: receiver, profile, from: self, registry, messenger, until: end)
            let outcome = await move.run()
            if outcome != .unsupported { return outcome }
        }
        return await giveAway(room, registry) ? .moved : .kept("the store does not answer")
    }

    /// Ends everything of a room here, so that any node may take it.
    private func giveAway(_ room: RoomID, _ registry: RoomRegistry) async -> Bool {
        guard machine.withLock({ $0.leave(room) }) else { return false }
        await registry.handOver(room)
        guard let lease = machine.withLock({ $0.left(room) }) else { return false }
        do {
            try await base.dismiss([lease], areWanted: true)
            directory.forget(room)
            await departed(room)
            return true
        } catch {
            logger.error("a room cannot be given to another node before its lease has run out: \(error)")
            return false
        }
    }
}
