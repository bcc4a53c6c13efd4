import EncodedMedia
import MixModel
import RoomChannel

/// Other nodes' orders about the channels of this node's rooms.
extension RoomChannels {
    /// Carries out another node's order. The caller has verified that the sender is a node.
    package func answer(_ order: ChannelOrder) async -> ChannelAnswer {
        do throws(OrchestratorError) {
            switch order {
            case .follow(let room, let following):
                return ChannelAnswer(bulletin: try await bulletin(for: following, of: room))
            case .count(let room, let mirror, let viewers):
                guard let channel = channels[room],
                    channel.watchers.note(mirror, viewers: viewers, at: MonotonicClock.now())
                else { break }
                takeAudience(of: channel)
            case .call(let room, let call): return ChannelAnswer(reply: try await perform(call, in: room))
            case .take(let room, let handover, let epoch): try keep(handover, of: room, epoch: epoch)
            }
            return ChannelAnswer()
        } catch {
            return ChannelAnswer(error)
        }
    }

    /// Returns the news of a channel, waiting for them if necessary.
    ///
    /// - Throws: `OrchestratorError` if the room is not here, or no longer here.
    private func bulletin(
        for following: ChannelFollowing, of room: RoomID
    ) async throws(OrchestratorError) -> ChannelBulletin {
        let channel = try await home(of: room)
        let now = MonotonicClock.now()
        channel.usedAt = now
        guard channel.watchers.note(following.mirror, viewers: following.viewers, at: now) else {
            throw .channelsFull("\(ChannelWatchers.most) nodes mirror the channel", setting: "nothing")
        }
        channel.machine.catchUp(to: following.known, wallClock: Int64(wallClock() * 1e6))
        takeAudience(of: channel)
        if let bulletin = channel.watchers.bulletin(after: following.place, channel.machine.snapshot) {
            return bulletin
        }
        guard let place = following.place else { throw .noReply }
        if cluster?.node.shutdown.hasBegun ?? false { throw .stopping }
        guard following.waits else { return ChannelBulletin(nothingAfter: place) }
        let told = await withCheckedContinuation { continuation in
            channel.watchers.wait(following.mirror, after: place, at: now, continuation)
        }
        guard let told else { throw .moving(room.rawValue) }
        return told
    }
}
