import EncodedMedia
import Logging
import MixModel
import RoomChannel
import ServiceLifecycle

/// The channels of all rooms in which somebody follows, writes or likes: each room's messages, its viewers, and what the
/// program reports.
///
/// A channel comes into being at the first request for it and is forgotten when nobody has used it for a while. What it
/// tells is put into every viewer's queue before the call that caused it returns. `run` owns the clock and the news of
/// rooms.
package actor RoomChannels: Service {
    let settings: ChannelSettings
    let registry: RoomRegistry
    let metrics: Metrics
    var channels: [RoomID: OpenChannel] = [:]
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

    package init(_ settings: ChannelSettings, registry: RoomRegistry, metrics: Metrics) {
        self.settings = settings
        self.registry = registry
        self.metrics = metrics
    }

    // MARK: Rooms

    /// Opens a room: creates it if it does not exist, and tells its viewers that it is live.
    ///
    /// - Throws: `OrchestratorError` if somebody else has opened it, the title is refused, or the store or a quota does not
    ///   allow it.
    package func open(_ room: RoomID, title: String?, by sender: ChannelSender) async throws(OrchestratorError) {
        if let channel = channels[room], !channel.machine.mayClose(sender) { throw .notOpener }
        let owner = try await registry.owner(room)
        let outcome = try await owner.configure(
            SettingsChange(summary: "room opened through its channel") { settings, _ in settings },
            at: MonotonicClock.now())
        let channel = try await channel(of: room)
        guard channel.machine.mayClose(sender) else { throw .notOpener }
        if outcome.isNew { channel.isMadeHere = true }
        try decide(channel) { channel throws(ChannelRefusal) in
            try channel.machine.open(title: title, by: sender.user)
        }
    }

    /// Closes a room: tells its viewers that it has ended. A room that was created by `open` and has no participant is
    /// deleted.
    ///
    /// - Throws: `OrchestratorError` if the room is unknown, or the sender neither opened it nor is a moderator.
    package func close(_ room: RoomID, by sender: ChannelSender) async throws(OrchestratorError) {
        let channel = try await channel(of: room)
        guard channel.machine.mayClose(sender) else { throw .notOpener }
        perform(channel.machine.close(), on: channel)
        guard channel.isMadeHere, let owner = try await registry.existingOwner(room),
            await owner.snapshot.room.document.participants.isEmpty
        else { return }
        channel.isMadeHere = false
        try await owner.delete(at: MonotonicClock.now())
    }

    // MARK: Viewers

    /// Adds a viewer, who gets everything from then on until `leave`.
    ///
    /// - Parameters:
    ///   - known: Number of the last message that the viewer has; `nil` = none.
    ///   - deliver: Takes a notice without waiting; called on the actor. Returns false if the viewer is gone or too slow,
    ///     who is then dropped without `leave`.
    ///   - end: Called once if the room is deleted, after the last delivery; the viewer is then gone from the channel.
    /// - Throws: `OrchestratorError` if the room is unknown or has too many viewers.
    package func join(
        _ room: RoomID, _ viewer: ChannelViewer, after known: Int64? = nil,
        deliver: @escaping @Sendable (ChannelDelivery) -> Bool, end: @escaping @Sendable () -> Void = {}
    ) async throws(OrchestratorError) -> ChannelWelcome {
        let channel = try await channel(of: room)
        try checkPlace(for: viewer, in: channel)
        viewerNumber += 1
        let id = ChannelViewer.ID(number: viewerNumber)
        channel.viewers[id] = OpenChannel.Viewer(address: viewer.address, deliver: deliver, end: end)
        viewerCount += 1
        addresses[viewer.address, default: 0] += 1
        takeAudience(of: channel)
        let history = channel.machine.history
        return ChannelWelcome(
            viewer: id, messages: known.map { Array(history.after($0)) } ?? history.messages,
            isIncomplete: known.map { !history.reaches($0) } ?? false, state: channel.state)
    }

    package func leave(_ room: RoomID, _ viewer: ChannelViewer.ID) {
        guard let channel = channels[room], remove(viewer, from: channel) else { return }
        takeAudience(of: channel)
    }

    /// Takes note that a viewer is gone, for callers that cannot wait. It is acted on within a tick.
    package nonisolated func leaveSoon(_ room: RoomID, _ viewer: ChannelViewer.ID) {
        departures.add(room, viewer)
    }

    private func checkPlace(for viewer: ChannelViewer, in channel: OpenChannel) throws(OrchestratorError) {
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
    func remove(_ viewer: ChannelViewer.ID, from channel: OpenChannel) -> Bool {
        guard let gone = channel.viewers.removeValue(forKey: viewer) else { return false }
        viewerCount -= 1
        let others = (addresses[gone.address] ?? 1) - 1
        addresses[gone.address] = others == 0 ? nil : others
        channel.usedAt = MonotonicClock.now()
        return true
    }

    // MARK: Messages

    /// Sends a message. When this returns, the message is in the queue of every viewer, and in the store if channels are
    /// stored; a like is counted, and told with the next burst.
    ///
    /// - Throws: `OrchestratorError` if the room is unknown, its rules refuse the message (`ChannelRefusal`), or the store
    ///   does not take it. Nobody keeps it then.
    package func send(
        _ draft: ChannelDraft, to room: RoomID, from sender: ChannelSender
    ) async throws(OrchestratorError) -> ChannelMessage {
        if settings.isStored, let homes = registry.services.homes {
            // A room that exists is taken before anybody is told, so that only its own node tells.
            _ = try await self.channel(of: room)
            try await homes.enter(room)
        }
        let channel = try await channel(of: room)
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

    /// Returns the messages after a number, oldest first, and the channel's state.
    package func history(
        of room: RoomID, after id: Int64?
    ) async throws(OrchestratorError) -> (messages: [ChannelMessage], state: ChannelState) {
        let channel = try await channel(of: room)
        return (Array(channel.machine.history.after(id ?? 0)), channel.state)
    }

    // MARK: Moderation

    package func delete(_ id: Int64, of room: RoomID) async throws(OrchestratorError) {
        let known = try await channel(of: room)
        if known.machine.history.messages.contains(where: { $0.id == id }) { try await removeStored(id, of: room) }
        try decide(known) { channel throws(ChannelRefusal) in try channel.machine.delete(id) }
    }

    /// - Parameter seconds: `nil` = without an end.
    package func mute(_ user: UserID, in room: RoomID, for seconds: Int?) async throws(OrchestratorError) {
        try decide(try await channel(of: room)) { channel throws(ChannelRefusal) in
            try channel.machine.mute(user, for: seconds, now: MonotonicClock.now())
            return []
        }
    }

    /// - Returns: Whether the user was muted.
    package func unmute(_ user: UserID, in room: RoomID) async throws(OrchestratorError) -> Bool {
        try await channel(of: room).machine.unmute(user, now: MonotonicClock.now())
    }

    /// Returns the rules' words and the muted users, for moderators.
    package func moderation(
        of room: RoomID
    ) async throws(OrchestratorError) -> (rules: ChannelRules, muted: [(user: UserID, secondsLeft: Int?)]) {
        let machine = try await channel(of: room).machine
        return (machine.rules, machine.muted(at: MonotonicClock.now()))
    }

    /// Changes the rules of a room; `nil` leaves one as it is.
    package func change(
        _ room: RoomID, slowMode: Int?, words: [String]?
    ) async throws(OrchestratorError) -> ChannelRules {
        let channel = try await channel(of: room)
        try decide(channel) { channel throws(ChannelRefusal) in
            try channel.machine.change(slowMode: slowMode, words: words)
        }
        return channel.machine.rules
    }

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
