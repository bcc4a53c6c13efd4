import EncodedMedia
import MixModel
import RoomChannel
import TaskStore

/// The channel of a room that was handed over before the room has come.
struct KeptHandover {
    var handover: ChannelHandover
    /// Number of the lease under which it was handed over. If the next one is this node's, nothing is missing in it.
    var epoch: Int64
    /// Time in ns of CLOCK_MONOTONIC at which it is given up.
    var until: Int64
}

/// Channels of rooms that move from one node to another.
extension RoomChannels: RoomBelongings {
    /// Time between two looks for rooms that have come or gone, for what nobody has told.
    static let homeInterval: Duration = .milliseconds(500)
    /// Most channels that wait for their rooms, and for how long, in ns.
    static let mostHandovers = 64
    static let handoverLifetime: Int64 = 60_000_000_000

    // MARK: Giving

    /// The rooms of this node that have a channel.
    package var rooms: Set<RoomID> { Set(channels.keys) }

    /// Holds back everything that changes the channel of a room that is about to move, and gives the next node the channel.
    ///
    /// - Returns: The reason why the next node does not have it. `nil` if it has, if there is nothing to have, or if that node
    ///   is of a release that takes no channels.
    package func handOver(_ room: RoomID, to other: NodeProfile) async -> String? {
        guard let cluster, let channel = channels[room] else { return nil }
        channel.isFrozen = true
        // What the next node would read if it was of another release.
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

    /// Lets the channel of a room that stays go on.
    package func stay(_ room: RoomID) {
        guard let channel = channels[room], channel.isFrozen else { return }
        channel.isFrozen = false
        // What has changed meanwhile was not read.
        registry.services.news.changed(room)
    }

    /// Has those who follow the channel of a room that has gone follow it where the room is.
    package func leave(_ room: RoomID) {
        if let channel = channels[room] { letGo(channel) }
    }

    func letGo(_ channel: OpenChannel) {
        let (room, viewers) = (channel.room, channel.viewers)
        forget(channel)
        guard !viewers.isEmpty else { return }
        guard cluster != nil, hasPlaceForMirror else { return endViewers(of: channel) }
        let machine = ChannelMirror(of: channel.machine.snapshot, history: emptyHistory)
        channel.viewers = [:]
        beginMirror(room, machine, at: nil, viewers: viewers)
    }

    // MARK: Taking

    /// Keeps the channel of a room that is about to come.
    func keep(_ handover: ChannelHandover, of room: RoomID, epoch: Int64) throws(OrchestratorError) {
        let now = MonotonicClock.now()
        handovers = handovers.filter { $0.value.until > now }
        guard handovers[room] != nil || handovers.count < Self.mostHandovers else {
            throw OrchestratorError(
                .unavailable, "channels-full", "Too many channels are on their way",
                detail: "\(Self.mostHandovers) channels wait for their rooms", retryAfter: 5)
        }
        // The room is the other node's, so what is here is of an earlier time.
        leave(room)
        handovers[room] = KeptHandover(handover: handover, epoch: epoch, until: now + Self.handoverLifetime)
    }

    /// Forgets what was handed over with a room that does not come.
    package func dropHandover(of room: RoomID) { handovers[room] = nil }

    /// Takes out what was handed over before the present lease.
    func takeHandover(of room: RoomID, epoch: Int64) -> ChannelHandover? {
        guard let kept = handovers.removeValue(forKey: room), kept.epoch == epoch - 1 else { return nil }
        return kept.handover
    }

    /// Opens the channel of a room that has come, if somebody follows it or it was handed over.
    package func arrive(_ room: RoomID) async {
        guard mirrors[room] != nil || handovers[room] != nil else { return }
        // A store that cannot be read is asked again at the next look.
        _ = try? await channel(of: room)
    }

    /// Has those who have followed a channel at another node follow it here.
    func goOn(with channel: OpenChannel, after mirror: MirroredChannel) {
        forget(mirror)
        takeAudience(of: channel, and: mirror.viewers.count)
        let notices = mirror.machine.take(.home(channel.machine.snapshot))
        channel.viewers.merge(mirror.viewers) { $1 }
        mirror.viewers = [:]
        for case .tell(let notice) in notices { drop(channel.tell(notice), from: channel) }
    }

    // MARK: Looking

    /// Finds rooms that have come or gone.
    func lookForMoves() async {
        guard let node = cluster?.node else { return }
        for (room, channel) in channels where !node.has(room) && !channel.isFrozen {
            // A room that nobody has stays, if nobody has had it.
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
