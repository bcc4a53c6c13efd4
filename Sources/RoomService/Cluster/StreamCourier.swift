import MixModel
import TaskStore

/// Delivers the events of this node's streams to the node that has their room. Without a cluster, all rooms are here.
package struct StreamCourier: Sendable {
    let registry: RoomRegistry
    let cluster: ClusterAccess?

    package init(registry: RoomRegistry, cluster: ClusterAccess?) {
        self.registry = registry
        self.cluster = cluster
    }

    /// Whether rooms may be at other nodes.
    var hasOthers: Bool { cluster != nil }

    /// Returns when an event is stored, wherever its room is. Waits while the room moves.
    ///
    /// - Parameter path: As for `StreamOrder.store`.
    /// - Throws: `OrchestratorError` if the event is not stored within `StreamPatience.limit` plus the time of one
    ///   attempt.
    @discardableResult
    func store(
        _ event: RoomEvent, path: String, turn: StreamTurn = .takes
    ) async throws(OrchestratorError) -> StreamReceipt {
        guard let cluster else { return try await registry.store(event, ofStreamAt: path, turn: turn) }
        // What the other nodes do not reach can only end there.
        let isShared = cluster.node.settings.ingest != nil || !event.isPublication
        let begin = ContinuousClock.now
        while true {
            do throws(OrchestratorError) {
                return try await attempt(event, path, turn, cluster, isShared: isShared)
            } catch {
                guard isShared, !cluster.node.shutdown.hasBegun,
                    StreamPatience.triesAgain(after: error, spent: ContinuousClock.now - begin),
                    (try? await Task.sleep(for: StreamPatience.pause)) != nil
                else { throw error }
                cluster.node.forgetHolders()
            }
        }
    }

    private func attempt(
        _ event: RoomEvent, _ path: String, _ turn: StreamTurn, _ cluster: ClusterAccess, isShared: Bool
    ) async throws(OrchestratorError) -> StreamReceipt {
        let forwarding = NodeForwarding(isForwarded: false)
        let result = await NodeForwarding.$current.withValue(forwarding) {
            await Result.of { () async throws(OrchestratorError) in
                try await registry.store(event, ofStreamAt: path, turn: turn)
            }
        }
        guard isShared, case .failure = result, let other = forwarding.target else { return try result.get() }
        return try await ask(
            .store(event, path: path, turn: turn), of: other, within: StreamPatience.answer, cluster
        ).receipt()
    }

    /// Stores a change of a stream, wherever its room is.
    ///
    /// - Throws: As `store`.
    package func update(_ event: RoomEvent) async throws(OrchestratorError) { try await store(event, path: "") }

    /// Sends an order to another node.
    ///
    /// - Throws: `OrchestratorError` if it does not answer, or takes no such orders.
    func ask(
        _ order: StreamOrder, of other: NodeProfile, within limit: Duration, upTo longest: Int = 1 << 16,
        _ cluster: ClusterAccess
    ) async throws(OrchestratorError) -> StreamAnswer {
        let answer = try await cluster.exchange.post(
            order, to: NodeExchange.streamsPath, of: other, within: limit, upTo: longest)
        guard let told = answer.read(StreamAnswer.self) else {
            throw OrchestratorError(
                .unavailable, "node-refused", "Another node takes no streams of others",
                detail: "the node \(other.name) answered \(answer.status): all nodes have to be of the same release")
        }
        return told
    }

    /// Adds an entry to the timelines of a room, wherever it is. The entry may be lost.
    func note(_ words: String, in room: RoomID) async {
        if registry.noteOfStream(words, in: room) { return }
        guard let cluster, !cluster.node.has(room),
            let other = try? await cluster.node.otherHolder(of: room, isFreshWanted: false)
        else { return }
        _ = try? await cluster.exchange.post(
            StreamOrder.note(room, words), to: NodeExchange.streamsPath, of: other, within: StreamPatience.answer)
    }
}

extension RoomEvent {
    var isPublication: Bool { if case .streamPublished = kind { true } else { false } }
}
