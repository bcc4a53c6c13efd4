import EncodedMedia
import MixModel
import RoomChannel
import TaskStore

/// A channel that was handed over before its room arrived.
struct KeptHandover {
    var handover: ChannelHandover
    /// Number of the lease under which the channel was handed over. If this node has the next lease, the channel is
    /// complete.
    var epoch: Int64
    /// Time in ns of CLOCK_MONOTONIC at which the channel is dropped.
    var until: Int64
}

/// Channels of rooms that move from one node to another.
extension RoomChannels: RoomBelongings {
    /// Time between two checks for rooms that have moved without a notification.
    static let homeInterval: Duration = .milliseconds(500)
    /// Maximum number of channels that wait for their rooms, and the time for which they wait, in ns.
    static let mostHandovers = 64
    static let handoverLifetime: Int64 = 60_000_000_000

    // MARK: Giving

    /// The rooms of this node that have a channel.
    package var rooms: Set<RoomID> { Set(channels.keys) }

    /// Freezes the channel of a room that is about to move, and sends it to the next node.
    ///
    /// - Returns: The reason why the next node does not have the channel; `nil` if it does, if there is no channel, or
    ///   if that node runs a release that does not accept channels.
    package func handOver(_ room: RoomID, to other: NodeProfile) async -> String? {
        guard let cluster, let channel = channels[room] else { return nil }
        channel.isFrozen = true
        // A next node of another release reads it from the store.
        if settings.isStored { await storeMemory(of: room) }
        guard channels[room] === channel, let epoch = cluster.node.epoch(of: room), isConfirmed(channel) else {
            return "its channel was lost"
        }
        var handover = channel.machine.handover(
            at: MonotonicClock.now(), wallClock: Int64(wallClock() * 1e6), isStored: settings.isStored)
        handover.isMade = channel.isMadeHere
        let order = ChannelOrder.take(room, handover, epoch: epoch)
        switch await ask(order, of: other, within: ChannelPatience.answer, cluster) {
        case .failure(let error): return "its channel: \(error.detail)"
        case .success(let answer): return answer?.fault.map { "its channel: \($0.detail)" }
        }
    }

    /// Unfreezes the channel of a room that stays.
    package func stay(_ room: RoomID) {
        guard let channel = channels[room], channel.isFrozen else { return }
        channel.isFrozen = false
        // Changes during the freeze were not read.
        registry.services.news.changed(room)
    }

    /// Makes the viewers of a channel whose room has left follow it at the room's new node.
    package func leave(_ room: RoomID) {
        if let channel = channels[room] { letGo(channel) }
    }

    func letGo(_ channel: OpenChannel) {
        let (room, viewers) = (channel.room, channel.viewers)
        forget(channel)
        guard !viewers.isEmpty else { return }
        guard cluster != nil, hasPlaceForMirror(of: room.app) else { return endViewers(of: channel) }
        let machine = ChannelMirror(of: channel.machine.snapshot, history: emptyHistory)
        channel.viewers = [:]
        beginMirror(room, machine, at: nil, viewers: viewers)
    }

    // MARK: Taking

    /// Keeps the channel of a room that is about to arrive.
    func keep(_ handover: ChannelHandover, of room: RoomID, epoch: Int64) throws(OrchestratorError) {
        let now = MonotonicClock.now()
        handovers = handovers.filter { $0.value.until > now }
        guard handovers[room] != nil || handovers.count < Self.mostHandovers else {
            throw OrchestratorError(
                .unavailable, "channels-full", "Too many channels are on their way",
                detail: "\(Self.mostHandovers) channels wait for their rooms", retryAfter: 5)
        }
        // The room is the other node's, so a channel here is out of date.
        leave(room)
        handovers[room] = KeptHandover(handover: handover, epoch: epoch, until: now + Self.handoverLifetime)
    }

    /// Drops the channel that was handed over with a room that does not arrive.
    package func dropHandover(of room: RoomID) { handovers[room] = nil }

    /// Removes and returns the channel that was handed over before the current lease.
    func takeHandover(of room: RoomID, epoch: Int64) -> ChannelHandover? {
        guard let kept = handovers.removeValue(forKey: room), kept.epoch == epoch - 1 else { return nil }
        return kept.handover
    }

    /// Opens the channel of a room that has arrived, if it has viewers here or was handed over.
    package func arrive(_ room: RoomID) async {
        guard mirrors[room] != nil || handovers[room] != nil else { return }
        // If the store cannot be read, the next check tries again.
        _ = try? await channel(of: room)
    }

    /// Makes the viewers of a mirrored channel follow the channel that is now open here.
    func goOn(with channel: OpenChannel, after mirror: MirroredChannel) {
        forget(mirror)
        takeAudience(of: channel, and: mirror.viewers.count)
        let notices = mirror.machine.take(.home(channel.machine.snapshot))
        channel.viewers.merge(mirror.viewers) { $1 }
        mirror.viewers = [:]
        for case .tell(let notice) in notices { drop(channel.tell(notice), from: channel) }
    }

    // MARK: Looking

    /// Finds rooms that have arrived or left.
    func lookForMoves() async {
        guard let node = cluster?.node else { return }
        for (room, channel) in channels where !node.has(room) && !channel.isFrozen {
            // A room that no node has stays here, if no other node has had it.
            let (result, _) = await tried { () async throws(OrchestratorError) in try await node.enter(room) }
            guard channels[room] === channel else { continue }
            switch result {
            case .success: if !isConfirmed(channel) { letGo(channel) }
            case .failure(let error): if error.code == "room-elsewhere" { letGo(channel) }
            }
        }
        let now = MonotonicClock.now()
        handovers = handovers.filter { $0.value.until > now }
        for room in Set(mirrors.keys).union(handovers.keys) where node.has(room) { await arrive(room) }
    }
}
