import EncodedMedia
import MixModel
import RoomChannel
import TaskStore

/// Calls to channels, performed where the room is.
extension RoomChannels {
    /// Performs a call to a room's channel, here or at the node that has the room. Waits while the room moves.
    ///
    /// - Throws: `OrchestratorError` if the call is refused, or the room's node does not answer; it is then unknown
    ///   whether the call was performed. If that node runs a release that does not support such calls, the error is
    ///   noted for the request to be passed on.
    func carry(_ call: ChannelCall, to room: RoomID) async throws(OrchestratorError) -> ChannelReply {
        guard let cluster else { return try await perform(call, in: room) }
        let begin = ContinuousClock.now
        while true {
            let (result, isUnsupported) = await attempt(call, room, cluster)
            guard case .failure(let error) = result, !isUnsupported, !cluster.node.shutdown.hasBegun,
                ChannelPatience.triesAgain(after: error, spent: ContinuousClock.now - begin),
                (try? await Task.sleep(for: ChannelPatience.pause)) != nil
            else { return try result.get() }
            cluster.node.directory.forget(room)
        }
    }

    private func attempt(
        _ call: ChannelCall, _ room: RoomID, _ cluster: ClusterAccess
    ) async -> (result: Result<ChannelReply, OrchestratorError>, isUnsupported: Bool) {
        let (result, other) = await tried { () async throws(OrchestratorError) in
            try await self.perform(call, in: room)
        }
        guard case .failure(let error) = result, error.code == "room-elsewhere", let other else {
            return (result, false)
        }
        switch await ask(.call(room, call), of: other, within: ChannelPatience.answer, cluster) {
        case .failure(let error): return (.failure(error), false)
        case .success(.none):
            NodeForwarding.current?.note(other)
            return (result, true)
        case .success(.some(let answer)):
            if let error = answer.error { return (.failure(error), false) }
            return (.success(answer.reply ?? ChannelReply()), false)
        }
    }

    /// Sends a call to another node.
    ///
    /// - Returns: The answer; `nil` if the node runs a release that does not support such orders, or has no channels.
    func ask(
        _ order: ChannelOrder, of other: NodeProfile, within limit: Duration, _ cluster: ClusterAccess
    ) async -> Result<ChannelAnswer?, OrchestratorError> {
        do throws(OrchestratorError) {
            let answer = try await cluster.exchange.post(
                order, to: NodeExchange.channelsPath, of: other, within: limit, upTo: ChannelPatience.longestAnswer)
            if answer.isUnknown { return .success(nil) }
            guard let told = answer.read(ChannelAnswer.self) else {
                return .failure(
                    OrchestratorError(
                        .unavailable, "node-refused", "The node that has the room refuses calls of other nodes",
                        detail: "the node \(other.name) answered \(answer.status)", retryAfter: 2))
            }
            return .success(told)
        } catch {
            return .failure(error)
        }
    }

    /// Runs `body`, which acts where the room is.
    ///
    /// - Returns: The result, and the other node that was found to have the room.
    func tried<Value: Sendable>(
        _ body: () async throws(OrchestratorError) -> Value
    ) async -> (result: Result<Value, OrchestratorError>, other: NodeProfile?) {
        // A request of its own: work done here with another node's help must not be passed on.
        let forwarding = NodeForwarding(isForwarded: false)
        let result = await NodeForwarding.$current.withValue(forwarding) {
            await Result<Value, OrchestratorError>.of(body)
        }
        return (result, forwarding.target)
    }

    // MARK: Here

    /// Performs a call to the channel of a room that this node has, or takes.
    ///
    /// - Throws: `OrchestratorError` as `RoomHomes.enter` if another node has the room. Nothing has been done then.
    func perform(_ call: ChannelCall, in room: RoomID) async throws(OrchestratorError) -> ChannelReply {
        // Viewers at other nodes would not receive a message sent now.
        if cluster?.node.shutdown.hasBegun ?? false { throw .stopping }
        switch call {
        case .send(let draft, let sender):
            return ChannelReply(message: try await sendHere(draft, to: room, from: sender))
        case .history(let id):
            let channel = try await home(of: room)
            return ChannelReply(messages: Array(channel.machine.history.after(id ?? 0)), state: channel.state)
        case .delete(let id): try await deleteHere(id, of: room)
        case .mute(let user, let seconds):
            try decide(try await home(of: room)) { channel throws(ChannelRefusal) in
                try channel.machine.mute(user, for: seconds, now: MonotonicClock.now())
                return []
            }
        case .unmute(let user):
            var wasMuted = false
            try decide(try await home(of: room)) { channel throws(ChannelRefusal) in
                wasMuted = channel.machine.unmute(user, now: MonotonicClock.now())
                return []
            }
            return ChannelReply(wasMuted: wasMuted)
        case .rules(let slowMode, let words):
            let channel = try await home(of: room)
            if slowMode != nil || words != nil {
                try decide(channel) { channel throws(ChannelRefusal) in
                    try channel.machine.change(slowMode: slowMode, words: words)
                }
            }
            return ChannelReply(moderation: ChannelModeration(channel.machine, at: MonotonicClock.now()))
        case .open(let title, let sender): try await openHere(room, title: title, by: sender)
        case .close(let sender): try await closeHere(room, by: sender)
        }
        return ChannelReply()
    }

    private func sendHere(
        _ draft: ChannelDraft, to room: RoomID, from sender: ChannelSender
    ) async throws(OrchestratorError) -> ChannelMessage {
        let channel = try await home(of: room)
        let (now, wallClock) = (MonotonicClock.now(), Int64(wallClock() * 1e6))
        channel.usedAt = now
        let message: ChannelMessage
        do throws(ChannelRefusal) {
            let (sent, actions) = try channel.machine.send(draft, from: sender, now: now, wallClock: wallClock)
            message = sent
            perform(actions, on: channel)
        } catch {
            metrics.count(.channelRefusals, error.code)
            throw OrchestratorError(error)
        }
        if draft.kind != .like { try await store(message, of: channel) }
        metrics.count(.channelMessages, draft.kind.rawValue)
        return message
    }

    private func deleteHere(_ id: Int64, of room: RoomID) async throws(OrchestratorError) {
        let channel = try await home(of: room)
        guard settings.isStored, channel.machine.history.messages.contains(where: { $0.id == id }) else {
            return try decide(channel) { channel throws(ChannelRefusal) in try channel.machine.delete(id) }
        }
        try await removeStored(id, of: room)
        // Also if the room is about to move: the next node must not find the message.
        if channels[room] === channel, let actions = try? channel.machine.delete(id) { perform(actions, on: channel) }
    }

    private func openHere(
        _ room: RoomID, title: String?, by sender: ChannelSender
    ) async throws(OrchestratorError) {
        if let channel = channels[room], isHome(channel), !channel.machine.mayOpen(sender) { throw .notOpener }
        let owner = try await registry.owner(room)
        let outcome = try await owner.configure(
            SettingsChange(summary: "room opened through its channel") { settings, _ in settings },
            at: MonotonicClock.now())
        let channel = try await home(of: room)
        guard channel.machine.mayOpen(sender) else { throw .notOpener }
        if outcome.isNew { channel.isMadeHere = true }
        do throws(OrchestratorError) {
            try decide(channel) { channel throws(ChannelRefusal) in
                try channel.machine.open(title: title, by: sender.user)
            }
        } catch {
            // The refused title is the reason to report, even if the room cannot be deleted.
            if outcome.isNew { try? await deleteIfUnused(channel) }
            throw error
        }
    }

    private func closeHere(_ room: RoomID, by sender: ChannelSender) async throws(OrchestratorError) {
        let channel = try await home(of: room)
        guard channel.machine.mayClose(sender) else { throw .notOpener }
        perform(channel.machine.close(), on: channel)
        try await deleteIfUnused(channel)
    }

    /// Deletes a room that was created through its channel, unless it has participants or has been opened meanwhile.
    private func deleteIfUnused(_ channel: OpenChannel) async throws(OrchestratorError) {
        guard channel.isMadeHere, let owner = try await registry.existingOwner(channel.room),
            await owner.snapshot.room.document.participants.isEmpty, !channel.machine.isLive
        else { return }
        channel.isMadeHere = false
        try await owner.delete(at: MonotonicClock.now())
    }

    /// Makes a decision with the channel of a room that was just found to be here. Nothing may be awaited in between.
    private func decide(
        _ channel: OpenChannel, _ decision: (OpenChannel) throws(ChannelRefusal) -> [ChannelMachine.Action]
    ) throws(OrchestratorError) {
        channel.usedAt = MonotonicClock.now()
        do {
            perform(try decision(channel), on: channel)
        } catch {
            throw OrchestratorError(error)
        }
    }
}
