import EncodedMedia
import Logging
import MixModel
import RoomChannel
import ServiceLifecycle

/// The channels of all rooms that have viewers, messages or likes: each room's messages, its viewers, and the state of
/// its program.
///
/// A channel is created at the first request for it and dropped when it has not been used for a while. Its notices are
/// in every viewer's queue before the call that caused them returns. `run` owns the clock, the news of rooms, and the
/// tasks that follow the channels of other nodes.
///
/// In a cluster, the channel of a room is open at the node that has the room, and mirrored at every other node where it
/// has viewers. Viewers stay at their node when the room moves: an open channel becomes a mirror, and vice versa.
package actor RoomChannels: Service {
    let settings: ChannelSettings
    let registry: RoomRegistry
    let metrics: Metrics
    /// This node and its access to the others; `nil` = the service is not in a cluster.
    let cluster: ClusterAccess?
    var channels: [RoomID: OpenChannel] = [:]
    /// Number of `channels` of each app; apps without any have no entry.
    var channelsOfApps: [AppID: Int] = [:]
    /// Channels of other nodes' rooms that have viewers here. No room is in both dictionaries.
    var mirrors: [RoomID: MirroredChannel] = [:]
    /// Rooms whose channels are about to be mirrored, with the callers waiting for it.
    var opening: [RoomID: [CheckedContinuation<OrchestratorError?, Never>]] = [:]
    /// Channels of rooms that are moving to this node.
    var handovers: [RoomID: KeptHandover] = [:]
    let mirrorStarts: AsyncStream<MirroredChannel.Start>
    let mirrorStart: AsyncStream<MirroredChannel.Start>.Continuation
    var mirrorNumber = 0
    /// The room of each program whose viewers are counted.
    var programs: [TaskID: RoomID] = [:]
    /// Number of viewers per address.
    var addresses: [String: Int] = [:]
    var viewerCount = 0
    private var viewersOfApps: [AppID: Int] = [:]
    /// Earliest time, in ns, at which a channel must be woken.
    var nextWake: Int64?
    /// Time in ns of CLOCK_MONOTONIC of the next check for comments that have been shown for long enough.
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

    /// Opens a room: creates it if it does not exist, and notifies its viewers that it is live.
    ///
    /// - Throws: `OrchestratorError` if another sender has opened it, the title is refused, or the store or a quota
    ///   does not allow it.
    package func open(_ room: RoomID, title: String?, by sender: ChannelSender) async throws(OrchestratorError) {
        _ = try await carry(.open(title: title, sender), to: room)
    }

    /// Closes a room and notifies its viewers that it has ended. A room that was created by `open` and has no
    /// participant is deleted.
    ///
    /// - Throws: `OrchestratorError` if the room is unknown, or the sender neither opened it nor is a moderator.
    package func close(_ room: RoomID, by sender: ChannelSender) async throws(OrchestratorError) {
        _ = try await carry(.close(sender), to: room)
    }

    // MARK: Viewers

    /// Adds a viewer, who receives everything from then on until `leave`, also when the room moves to another node.
    ///
    /// - Parameters:
    ///   - known: Number of the last message that the viewer has; `nil` = none.
    ///   - deliver: Takes a notice without waiting; called on the actor. Returns false if the viewer is gone or too
    ///     slow; the viewer is then dropped without `leave`.
    ///   - end: Called once after the last delivery, if the room is deleted or goes to a node whose channels cannot be
    ///     followed from here; the viewer is then gone from the channel.
    /// - Throws: `OrchestratorError` if the room is unknown, has too many viewers, or is at a node that cannot be
    ///   reached.
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
        viewersOfApps[room.app, default: 0] += 1
        addresses[viewer.address, default: 0] += 1
        viewersChanged(of: channel)
        return ChannelWelcome(
            viewer: id, messages: known.map { Array(history.after($0)) } ?? history.messages,
            deleted: known.map { known in history.deleted.filter { $0 <= known } } ?? [],
            isIncomplete: known.map { !history.reaches($0) } ?? false, state: channel.state)
    }

    /// Filters out messages that the viewer already has from another node, which delivered them sooner.
    private static func leavingOut(
        _ known: Int64?, after last: Int64?, _ deliver: @escaping @Sendable (ChannelDelivery) -> Bool
    ) -> @Sendable (ChannelDelivery) -> Bool {
        // A number that no message can have yet is ignored.
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

    /// Marks a viewer as gone, for callers that cannot wait. Takes effect within a tick.
    package nonisolated func leaveSoon(_ room: RoomID, _ viewer: ChannelViewer.ID) {
        departures.add(room, viewer)
    }

    private func checkPlace(
        for viewer: ChannelViewer, in channel: any ChannelFollowers
    ) throws(OrchestratorError) {
        if viewerCount >= settings.mostViewers {
            throw .channelsFull("all channels have \(settings.mostViewers) viewers", setting: "channel.maxViewers")
        }
        let (shares, app) = (AppShares(places: settings.mostViewers, apps: settings.apps), channel.room.app)
        if !shares.hasPlace(for: app, taken: viewersOfApps) {
            throw .channelsFull(
                "the app \(app) has \(viewersOfApps[app] ?? 0) of the \(settings.mostViewers) places of all channels, "
                    + "and the free ones are kept for other apps", setting: "channel.maxViewers")
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
        let ofApp = (viewersOfApps[channel.room.app] ?? 1) - 1
        viewersOfApps[channel.room.app] = ofApp == 0 ? nil : ofApp
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

    /// Ends all viewers of a channel at this node.
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

    /// Sends a message. When this returns, the message is in the queue of every viewer at the room's node, on its way
    /// to the viewers at other nodes, and in the store if channels are stored. A like is counted, and delivered with
    /// the next burst.
    ///
    /// - Throws: `OrchestratorError` if the room is unknown, its rules refuse the message (`ChannelRefusal`), or the
    ///   store does not accept it. The message is then kept nowhere.
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

    /// - Parameter seconds: `nil` = indefinitely.
    package func mute(_ user: UserID, in room: RoomID, for seconds: Int?) async throws(OrchestratorError) {
        _ = try await carry(.mute(user, seconds: seconds), to: room)
    }

    /// - Returns: Whether the user was muted.
    package func unmute(_ user: UserID, in room: RoomID) async throws(OrchestratorError) -> Bool {
        try await carry(.unmute(user), to: room).wasMuted ?? false
    }

    /// Changes the rules of a room; `nil` leaves a rule unchanged.
    ///
    /// - Returns: The words of the rules and the muted users, for moderators.
    package func moderation(
        of room: RoomID, slowMode: Int? = nil, words: [String]? = nil
    ) async throws(OrchestratorError) -> ChannelModeration {
        guard let moderation = try await carry(.rules(slowMode: slowMode, words: words), to: room).moderation
        else { throw .noReply }
        return moderation
    }
}
