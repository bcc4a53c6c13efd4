import EncodedMedia
import Logging
import MixModel
import RoomChannel
import ServiceLifecycle

/// The channels of all rooms in which somebody follows, writes or likes: each room's messages, its viewers, and what the
/// program reports.
///
/// A channel comes into being at the first request for it and is forgotten when nobody has used it for a while. What it
/// tells is put into every viewer's queue before the call that caused it returns. `run` owns the clock, the news of
/// rooms, and what follows the channels of other nodes.
///
/// In a cluster, the channel of a room is open at the node that has the room, and mirrored where else somebody follows it.
/// Whoever follows it stays where he is when the room moves: what was open is mirrored from then on, and the other way round.
package actor RoomChannels: Service {
    let settings: ChannelSettings
    let registry: RoomRegistry
    let metrics: Metrics
    /// This node and its way to the others; `nil` = the service is alone.
    let cluster: ClusterAccess?
    var channels: [RoomID: OpenChannel] = [:]
    /// The channels of rooms of other nodes that somebody follows here. No room is here and there.
    var mirrors: [RoomID: MirroredChannel] = [:]
    /// Rooms whose channels are about to be mirrored, with those who wait for that.
    var opening: [RoomID: [CheckedContinuation<OrchestratorError?, Never>]] = [:]
    /// Channels of rooms that are on their way to this node.
    var handovers: [RoomID: KeptHandover] = [:]
    let mirrorStarts: AsyncStream<MirroredChannel.Start>
    let mirrorStart: AsyncStream<MirroredChannel.Start>.Continuation
    var mirrorNumber = 0
    /// The room of each program whose viewers are counted.
    var programs: [TaskID: RoomID] = [:]
    /// Viewers by address.
    var addresses: [String: Int] = [:]
    var viewerCount = 0
    /// Earliest time, in ns, at which a channel is to be woken.
    var nextWake: Int64?
    /// Time in ns of CLOCK_MONOTONIC of the next look at comments that have been in pictures for long enough.
    var commentsDueAt = Int64.min
    private var viewerNumber = 0
    nonisolated let departures = ChannelDepartures()

    package init(_ settings: ChannelSettings, registry: RoomRegistry, metrics: Metrics, cluster: ClusterAccess? = nil) {
        self.settings = settings
        self.registry = registry
        self.metrics = metrics
        self.cluster = cluster
        (mirrorStarts, mirrorStart) = AsyncStream.makeStream()
    }

    // MARK: Rooms

    /// Opens a room: creates it if it does not exist, and tells its viewers that it is live.
    ///
    /// - Throws: `OrchestratorError` if somebody else has opened it, the title is refused, or the store or a quota does not
    ///   allow it.
    package func open(_ room: RoomID, title: String?, by sender: ChannelSender) async throws(OrchestratorError) {
        _ = try await carry(.open(title: title, sender), to: room)
    }

    /// Closes a room: tells its viewers that it has ended. A room that was created by `open` and has no participant is
    /// deleted.
    ///
    /// - Throws: `OrchestratorError` if the room is unknown, or the sender neither opened it nor is a moderator.
    package func close(_ room: RoomID, by sender: ChannelSender) async throws(OrchestratorError) {
        _ = try await carry(.close(sender), to: room)
    }

    // MARK: Viewers

    /// Adds a viewer, who gets everything from then on until `leave`, also when the room moves to another node.
    ///
    /// - Parameters:
    ///   - known: Number of the last message that the viewer has; `nil` = none.
    ///   - deliver: Takes a notice without waiting; called on the actor. Returns false if the viewer is gone or too slow,
    ///     who is then dropped without `leave`.
    ///   - end: Called once if the room is deleted, or goes to a node whose channels cannot be followed from here, after the
    ///     last delivery; the viewer is then gone from the channel.
    /// - Throws: `OrchestratorError` if the room is unknown, has too many viewers, or is at a node that cannot be reached.
    package func join(
        _ room: RoomID, _ viewer: ChannelViewer, after known: Int64? = nil,
        deliver: @escaping @Sendable (ChannelDelivery) -> Bool, end: @escaping @Sendable () -> Void = {}
    ) async throws(OrchestratorError) -> ChannelWelcome {
        let channel = try await followers(of: room)
        try checkPlace(for: viewer, in: channel)
        viewerNumber += 1
        let id = ChannelViewer.ID(number: viewerNumber)
        let history = channel.history
        channel.viewers[id] = ChannelFollower(
            address: viewer.address, deliver: Self.leavingOut(known, after: history.messages.last?.id, deliver),
            end: end)
        viewerCount += 1
        addresses[viewer.address, default: 0] += 1
        viewersChanged(of: channel)
        return ChannelWelcome(
            viewer: id, messages: known.map { Array(history.after($0)) } ?? history.messages,
            deleted: known.map { known in history.deleted.filter { $0 <= known } } ?? [],
            isIncomplete: known.map { !history.reaches($0) } ?? false, state: channel.state)
    }

    /// Leaves out messages that the viewer has from another node, which was faster to tell them.
    private static func leavingOut(
        _ known: Int64?, after last: Int64?, _ deliver: @escaping @Sendable (ChannelDelivery) -> Bool
    ) -> @Sendable (ChannelDelivery) -> Bool {
        // A number that no message can have yet is none.
        guard let known, known > last ?? 0, known <= Int64(wallClock() * 1e6) + 60_000_000 else { return deliver }
        return { delivery in
            if case .message(let message) = delivery.notice, message.kind != .like, message.id <= known { return true }
            return deliver(delivery)
        }
    }

    package func leave(_ room: RoomID, _ viewer: ChannelViewer.ID) {
        if let channel = channels[room], remove(viewer, from: channel) { return viewersChanged(of: channel) }
        if let mirror = mirrors[room], remove(viewer, from: mirror) { viewersChanged(of: mirror) }
    }

    /// Takes note that a viewer is gone, for callers that cannot wait. It is acted on within a tick.
    package nonisolated func leaveSoon(_ room: RoomID, _ viewer: ChannelViewer.ID) {
        departures.add(room, viewer)
    }

    private func checkPlace(
        for viewer: ChannelViewer, in channel: any ChannelFollowers
    ) throws(OrchestratorError) {
        if viewerCount >= settings.mostViewers {
            throw .channelsFull("all channels have \(settings.mostViewers) viewers", setting: "channel.maxViewers")
        }
        if channel.viewers.count >= settings.mostViewersOfRoom {
            throw .channelsFull(
                "the channel has \(settings.mostViewersOfRoom) viewers", setting: "channel.maxViewersPerRoom")
        }
        if addresses[viewer.address, default: 0] >= settings.mostViewersOfAddress {
            throw .channelsFull(
                "this address has \(settings.mostViewersOfAddress) viewers", setting: "channel.maxViewersPerAddress")
        }
    }

    /// - Returns: False if there is no such viewer.
    func remove(_ viewer: ChannelViewer.ID, from channel: any ChannelFollowers) -> Bool {
        guard let gone = channel.viewers.removeValue(forKey: viewer) else { return false }
        viewerCount -= 1
        let others = (addresses[gone.address] ?? 1) - 1
        addresses[gone.address] = others == 0 ? nil : others
        channel.usedAt = MonotonicClock.now()
        return true
    }

    /// Removes viewers who are gone or too slow.
    func drop(_ viewers: [ChannelViewer.ID], from channel: any ChannelFollowers) {
        guard !viewers.isEmpty else { return }
        for viewer in viewers where remove(viewer, from: channel) { metrics.count(.channelDrops) }
        viewersChanged(of: channel)
    }

    /// Ends everybody who follows a channel here.
    func endViewers(of channel: any ChannelFollowers) {
        for (id, viewer) in channel.viewers where remove(id, from: channel) { viewer.end() }
    }

    private func viewersChanged(of channel: any ChannelFollowers) {
        if let channel = channel as? OpenChannel {
            takeAudience(of: channel)
        } else if let mirror = channel as? MirroredChannel {
            mirror.countChanged()
        }
    }

    // MARK: Messages

    /// Sends a message. When this returns, the message is in the queue of every viewer at the room's node, on its way to those of
    /// other nodes, and in the store if channels are stored; a like is counted, and told with the next burst.
    ///
    /// - Throws: `OrchestratorError` if the room is unknown, its rules refuse the message (`ChannelRefusal`), or the store
    ///   does not take it. Nobody keeps it then.
    package func send(
        _ draft: ChannelDraft, to room: RoomID, from sender: ChannelSender
    ) async throws(OrchestratorError) -> ChannelMessage {
        guard let message = try await carry(.send(draft, sender), to: room).message else { throw .noReply }
        return message
    }

    /// Returns the messages after a number, oldest first, and the channel's state.
    package func history(
        of room: RoomID, after id: Int64?
    ) async throws(OrchestratorError) -> (messages: [ChannelMessage], state: ChannelState) {
        let reply = try await carry(.history(after: id), to: room)
        guard let messages = reply.messages, let state = reply.state else { throw .noReply }
        return (messages, state)
    }

    // MARK: Moderation

    package func delete(_ id: Int64, of room: RoomID) async throws(OrchestratorError) {
        _ = try await carry(.delete(id), to: room)
    }

    /// - Parameter seconds: `nil` = without an end.
    package func mute(_ user: UserID, in room: RoomID, for seconds: Int?) async throws(OrchestratorError) {
        _ = try await carry(.mute(user, seconds: seconds), to: room)
    }

    /// - Returns: Whether the user was muted.
    package func unmute(_ user: UserID, in room: RoomID) async throws(OrchestratorError) -> Bool {
        try await carry(.unmute(user), to: room).wasMuted ?? false
    }

    /// Changes the rules of a room; `nil` leaves one as it is.
    ///
    /// - Returns: The rules' words and the muted users, for moderators.
    package func moderation(
        of room: RoomID, slowMode: Int? = nil, words: [String]? = nil
    ) async throws(OrchestratorError) -> ChannelModeration {
        guard let moderation = try await carry(.rules(slowMode: slowMode, words: words), to: room).moderation
        else { throw .noReply }
        return moderation
    }
}
