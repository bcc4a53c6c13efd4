import EncodedMedia
import MixModel
import RoomChannel
import TaskStore

/// The life cycle of channels: reports of rooms, timers, and their end.
extension RoomChannels {
    /// Time between two checks for due work. Likes and numbers of viewers that wait are late by at most this much.
    static let tick: Duration = .milliseconds(100)
    /// Ticks between two sweeps for unused channels.
    static let ticksPerSweep = 50

    package func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in self.registry.services.news.signals.cancelOnGracefulShutdown() {
                    await self.takeNews()
                }
            }
            group.addTask {
                var ticks = 0
                while (try? await Task.sleep(for: Self.tick)) != nil {
                    await self.wake()
                    await self.refreshValues()
                    ticks += 1
                    guard ticks.isMultiple(of: Self.ticksPerSweep) else { continue }
                    await self.sweep()
                    await self.openMissingForValues()
                }
            }
            if settings.isStored {
                group.addTask {
                    while (try? await Task.sleep(for: Self.memoryInterval)) != nil { await self.storeMemories() }
                }
            }
            if cluster != nil {
                group.addTask { await self.runMirrors() }
                group.addTask {
                    while (try? await Task.sleep(for: Self.homeInterval)) != nil { await self.lookForMoves() }
                }
            }
            // The news end with the service.
            await group.next()
            group.cancelAll()
        }
        for channel in channels.values { channel.watchers.dismiss() }
        if settings.isStored { await storeMemories() }
    }

    /// Number of open channels, of mirrors, and of the viewers of both.
    package var figures: (channels: Int, mirrors: Int, viewers: Int) { (channels.count, mirrors.count, viewerCount) }

    /// Drops channels that have not been used for a while. A channel that opened its room is the only one to know that.
    func sweep() {
        let now = MonotonicClock.now()
        let limit = now - Int64(settings.idleSeconds) * 1_000_000_000
        for channel in channels.values {
            if channel.watchers.expire(at: now) { takeAudience(of: channel) }
            guard !channel.isFollowed, channel.usedAt < limit, !channel.isFrozen else { continue }
            if !isShown(channel), !isUnstored(channel), !channel.machine.isOpened { forget(channel) }
        }
        for mirror in mirrors.values where mirror.viewers.isEmpty && mirror.usedAt < now - Self.mirrorRest {
            forget(mirror)
        }
    }

    // MARK: What rooms report

    private func takeNews() async {
        for room in registry.services.news.takeChanged() {
            do throws(OrchestratorError) {
                let state = try await registry.snapshot(room)
                // Rooms that are read during a move lack the reports of relays.
                guard let channel = channels[room], !channel.isFrozen else { continue }
                if let state, state.isStored { take(state, in: channel) } else { takeEnd(of: channel) }
            } catch {
                if error.code == "room-elsewhere", let channel = channels[room] { letGo(channel) }
                // If the store cannot be read, the next change or the next request will show it.
                continue
            }
        }
    }

    /// Ends a channel whose room was deleted.
    func takeEnd(of channel: OpenChannel) {
        perform(channel.machine.end(), on: channel)
        endViewers(of: channel)
        forget(channel)
    }

    func take(_ state: RoomState, in channel: OpenChannel) {
        let program = state.tasksToWatch.first
        if channel.program != program {
            if let old = channel.program { programs[old] = nil }
            if let program { programs[program] = channel.room }
            channel.program = program
            takeAudience(of: channel)
        }
        let status = program.flatMap { state.task($0)?.status }
        if status != nil { channel.isFresh = false }
        // A relay that stays on air here after a move has yet to report.
        let isAwaited = channel.isFresh && program != nil && state.room.document.hasStreams
        perform(
            channel.machine.takeProgram(
                isAwaited ? channel.machine.onAir : ChannelOnAir(status),
                hasParticipants: state.room.document.hasStreams), on: channel)
    }

    /// - Parameter coming: Number of viewers who are about to join.
    func takeAudience(of channel: OpenChannel, and coming: Int = 0) {
        let playback = channel.program.map { registry.services.viewers.viewers(of: $0) } ?? 0
        perform(
            channel.machine.takeAudience(
                ChannelAudience(
                    channel: channel.viewers.count + channel.watchers.viewers + coming, playback: playback),
                now: MonotonicClock.now()),
            on: channel)
    }

    // MARK: Time

    /// Wakes channels that are due, and updates the numbers of viewers of programs.
    private func wake() {
        for departure in departures.take() { leave(departure.room, departure.viewer) }
        for task in registry.services.viewers.takeChanged() {
            if let channel = programs[task].flatMap({ channels[$0] }) { takeAudience(of: channel) }
        }
        let now = MonotonicClock.now()
        if let cluster {
            // A node that stops leaves no other node without an answer.
            let isEnding = cluster.node.shutdown.hasBegun
            for channel in channels.values where !channel.watchers.isEmpty {
                if isEnding { channel.watchers.dismiss() } else { channel.watchers.passed(now) }
            }
        }
        guard let next = nextWake, next <= now else { return }
        nextWake = nil
        for channel in channels.values {
            guard let due = channel.wakesAt else { continue }
            if due <= now {
                channel.wakesAt = nil
                perform(channel.machine.passed(now, wallClock: Int64(wallClock() * 1e6)), on: channel)
            } else {
                nextWake = min(nextWake ?? due, due)
            }
        }
    }

    // MARK: Performing

    /// Performs a machine's actions. Viewers are notified without waiting for any of them; one that is too slow is
    /// dropped.
    func perform(_ actions: [ChannelMachine.Action], on channel: OpenChannel) {
        shareValues(of: channel)
        var dropped: [ChannelViewer.ID] = []
        for action in actions {
            switch action {
            case .tell(let notice):
                channel.watchers.append(notice)
                dropped += channel.tell(notice)
            case .wake(let time):
                channel.wakesAt = min(channel.wakesAt ?? time, time)
                nextWake = min(nextWake ?? time, time)
            }
        }
        channel.watchers.serve(channel.machine.snapshot)
        drop(dropped, from: channel)
    }
}

extension ChannelOnAir {
    /// Creates the viewers' view of a relay's report; empty without a relay.
    init(_ status: RelayStatus?) {
        let seen: [UserID] =
            switch status?.onAir {
            case .bypass: [status?.bypassSource?.user].compactMap(\.self)
            case .mix: (status?.scene?.panes ?? []).map { UserID($0.user) }
            case .slate, nil: []
            }
        var people: [UserID] = []
        for user in seen where !people.contains(user) { people.append(user) }
        self.init(mode: status?.onAir, people: people)
    }
}
