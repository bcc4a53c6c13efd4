import EncodedMedia
import MixModel
import RoomChannel
import TaskStore

/// Channels of rooms that other nodes have, for their viewers at this node.
extension RoomChannels {
    /// Maximum number of mirrored channels, if the settings allow as many. Viewers of further channels are passed on to
    /// the room's node.
    static let mostMirrors = 1000
    /// Time in ns for which a channel without viewers stays mirrored.
    static let mirrorRest: Int64 = 10_000_000_000
    /// Shortest time between two reports of the number of viewers.
    static let countInterval: Duration = .seconds(1)

    /// Returns the followers of the room's channel at this node, and begins to mirror the channel if another node has
    /// the room.
    ///
    /// - Throws: `OrchestratorError` if the room is unknown, has no node for longer than a move takes, or its node does
    ///   not answer. If that node runs a release without mirrors, or too many channels are mirrored, the error is noted
    ///   for the request to be passed on.
    func followers(of room: RoomID) async throws(OrchestratorError) -> any ChannelFollowers {
        guard let cluster else { return try await channel(of: room) }
        let begin = ContinuousClock.now
        while true {
            if let channel = channels[room] { return channel }
            if let mirror = mirrors[room] { return mirror }
            let (result, other) = await tried { () async throws(OrchestratorError) in
                _ = try await self.channel(of: room)
            }
            guard case .failure(var error) = result else { continue }
            if error.code == "room-elsewhere", let other {
                guard let failure = await openMirror(of: room, at: other, error, cluster) else { continue }
                if failure.code == "room-elsewhere" {
                    NodeForwarding.current?.note(other)
                    throw failure
                }
                error = failure
            }
            guard ChannelPatience.triesAgain(after: error, spent: ContinuousClock.now - begin),
                (try? await Task.sleep(for: ChannelPatience.pause)) != nil
            else { throw error }
            cluster.node.directory.forget(room)
        }
    }

    /// Begins to mirror a channel. While one caller does so, further callers wait for its result.
    ///
    /// - Parameter elsewhere: The error of a request for a room that is at the other node.
    /// - Returns: The error if the channel cannot be mirrored; `elsewhere` if the request is to be passed on.
    private func openMirror(
        of room: RoomID, at other: NodeProfile, _ elsewhere: OrchestratorError, _ cluster: ClusterAccess
    ) async -> OrchestratorError? {
        if opening[room] != nil {
            return await withCheckedContinuation { opening[room]?.append($0) }
        }
        opening[room] = []
        let failure = await makeMirror(of: room, at: other, elsewhere, cluster)
        for waiter in opening.removeValue(forKey: room) ?? [] { waiter.resume(returning: failure) }
        return failure
    }

    private func makeMirror(
        of room: RoomID, at other: NodeProfile, _ elsewhere: OrchestratorError, _ cluster: ClusterAccess
    ) async -> OrchestratorError? {
        guard hasPlaceForMirror(of: room.app) else { return elsewhere }
        let following = ChannelFollowing(
            mirror: cluster.node.settings.name, place: nil, known: 0, viewers: 0, waits: false)
        switch await ask(.follow(room, following), of: other, within: ChannelPatience.answer, cluster) {
        case .failure(let error): return error
        case .success(.none): return elsewhere
        case .success(.some(let answer)):
            guard let bulletin = answer.bulletin, let snapshot = bulletin.snapshot else {
                // A node that has given the room away names its new node, which may be this one.
                guard let error = answer.error else { return .noReply }
                return error.code == "room-elsewhere" ? .moving(room.rawValue) : error
            }
            // The room may have arrived here in the meantime.
            guard channels[room] == nil, mirrors[room] == nil else { return nil }
            let machine = ChannelMirror(of: snapshot, at: bulletin.place, history: emptyHistory)
            beginMirror(room, machine, at: other)
            return nil
        }
    }

    /// Begins to follow a channel at another node.
    ///
    /// - Parameter node: That node; `nil` = it has yet to be found.
    func beginMirror(
        _ room: RoomID, _ machine: ChannelMirror, at node: NodeProfile?,
        viewers: [ChannelViewer.ID: ChannelFollower] = [:]
    ) {
        mirrorNumber += 1
        let mirror = MirroredChannel(
            room, machine, at: node, number: mirrorNumber, viewers: viewers, now: MonotonicClock.now())
        mirrors[room] = mirror
        mirrorStart.yield(mirror.start)
    }

    func forget(_ mirror: MirroredChannel) {
        mirrors[mirror.room] = nil
        mirror.stop()
    }

    /// Returns whether one more channel of the app can be mirrored. The apps share the mirrors as they share channels.
    func hasPlaceForMirror(of app: AppID) -> Bool {
        var shares = settings.channelShares
        shares.places = min(Self.mostMirrors, shares.places)
        return shares.hasPlace(for: app, taken: Dictionary(mirrors.keys.map { ($0.app, 1) }, uniquingKeysWith: +))
    }

    // MARK: Following

    /// Follows channels at other nodes, until the task is cancelled.
    func runMirrors() async {
        await withDiscardingTaskGroup { group in
            for await start in mirrorStarts { group.addTask { await self.run(start) } }
            group.cancelAll()
        }
    }

    private func run(_ start: MirroredChannel.Start) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.follow(start) }
            // Ends with the mirror, so that it waits for no further answer.
            group.addTask { await self.tellCounts(start) }
            await group.next()
            group.cancelAll()
        }
    }

    /// Returns the mirror for which a task works; `nil` if it has ended.
    private func current(_ start: MirroredChannel.Start) -> MirroredChannel? {
        mirrors[start.room].flatMap { $0.start.number == start.number ? $0 : nil }
    }

    private func follow(_ start: MirroredChannel.Start) async {
        guard var actions = current(start).map({ [$0.machine.beginning] }) else { return }
        while !Task.isCancelled {
            var event: ChannelMirror.Event?
            for action in actions {
                switch action {
                case .tell(let notice):
                    if let mirror = current(start) { drop(mirror.tell(notice), from: mirror) }
                case .end:
                    guard let mirror = current(start) else { break }
                    endViewers(of: mirror)
                    forget(mirror)
                case .seek: event = await seek(start)
                case .ask(let place): event = await ask(after: place, start)
                case .rest(let milliseconds):
                    try? await Task.sleep(for: .milliseconds(milliseconds))
                    event = .rested
                }
            }
            guard let event, let mirror = current(start) else { return }
            actions = mirror.machine.take(event)
        }
    }

    /// Finds the node that has the room, and takes the room if no node has it.
    ///
    /// - Returns: `nil` if the room is here; its viewers have then been moved to the open channel.
    private func seek(_ start: MirroredChannel.Start) async -> ChannelMirror.Event? {
        let room = start.room
        let (result, other) = await tried { () async throws(OrchestratorError) in
            _ = try await self.channel(of: room)
        }
        guard case .failure(let error) = result else { return nil }
        if error.code == "room-elsewhere", let other {
            current(start)?.node = other
            return .elsewhere
        }
        return error.code == "room-not-found" ? .gone : .unknown
    }

    private func ask(after place: ChannelPlace?, _ start: MirroredChannel.Start) async -> ChannelMirror.Event? {
        guard let cluster, let mirror = current(start), let other = mirror.node else { return .silent }
        mirror.toldViewers = mirror.viewers.count
        let following = ChannelFollowing(
            mirror: cluster.node.settings.name, place: place, known: mirror.machine.known,
            viewers: mirror.toldViewers, waits: true)
        let answer = await ask(.follow(start.room, following), of: other, within: ChannelPatience.bulletin, cluster)
        switch answer {
        case .success(.none): return .unsupported
        case .success(.some(let reply)):
            if let bulletin = reply.bulletin { return .answered(bulletin) }
            cluster.node.directory.forget(start.room)
            return reply.fault?.code == "room-not-found" ? .gone : .moved
        case .failure:
            cluster.node.directory.forget(start.room)
            return .silent
        }
    }

    /// Reports the number of viewers here to the room's node whenever it changes. A lost report is repeated with the
    /// next question.
    private func tellCounts(_ start: MirroredChannel.Start) async {
        for await _ in start.counts {
            guard let cluster, let mirror = current(start), let other = mirror.node else { continue }
            let count = mirror.viewers.count
            guard count != mirror.toldViewers else { continue }
            mirror.toldViewers = count
            let order = ChannelOrder.count(start.room, mirror: cluster.node.settings.name, viewers: count)
            _ = await ask(order, of: other, within: ChannelPatience.answer, cluster)
            guard (try? await Task.sleep(for: Self.countInterval)) != nil else { return }
        }
    }
}
