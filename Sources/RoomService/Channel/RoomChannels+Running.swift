import EncodedMedia
import MixModel
import RoomChannel
import TaskStore

/// The life of channels: how they come into being, what rooms report, time, and their end.
extension RoomChannels {
    /// Time between two looks at what is due. Likes and numbers of viewers that wait are at most that late.
    static let tick: Duration = .milliseconds(100)
    /// Ticks between two sweeps for channels that nobody uses.
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
            if registry.services.homes != nil {
                group.addTask {
                    while (try? await Task.sleep(for: Self.homeInterval)) != nil { await self.endLostChannels() }
                }
            }
            // The news end with the service.
            await group.next()
            group.cancelAll()
        }
        if settings.isStored { await storeMemories() }
    }

    /// Number of channels and of their viewers.
    package var figures: (channels: Int, viewers: Int) { (channels.count, viewerCount) }

    // MARK: Finding

    /// Returns the room's channel, and makes one for a room that exists.
    func channel(of room: RoomID) async throws(OrchestratorError) -> OpenChannel {
        if let channel = channels[room] { return channel }
        // Watched before it is read, so that no change is missed between.
        registry.services.news.watch(room)
        let (stored, state): (StoredChannel, RoomState?)
        do throws(OrchestratorError) {
            stored = try await self.stored(room)
            state = try await registry.snapshot(room)
        } catch {
            if channels[room] == nil { registry.services.news.unwatch(room) }
            throw error
        }
        guard let state, state.isStored else {
            if let channel = channels[room] { takeEnd(of: channel) } else { registry.services.news.unwatch(room) }
            throw .noChannelRoom(room)
        }
        // Another caller may have been faster.
        let channel: OpenChannel
        if let known = channels[room] { channel = known } else { channel = try make(room, stored) }
        take(state, in: channel)
        return channel
    }

    private func make(_ room: RoomID, _ stored: StoredChannel) throws(OrchestratorError) -> OpenChannel {
        if channels.count >= settings.mostChannels {
            // Those that a picture shows go last.
            let idle = channels.values.filter(\.viewers.isEmpty).min { one, other in
                let (isOneShown, isOtherShown) = (isShown(one), isShown(other))
                return isOneShown == isOtherShown ? one.usedAt < other.usedAt : isOtherShown
            }
            guard let idle else {
                registry.services.news.unwatch(room)
                throw .channelsFull(
                    "\(settings.mostChannels) channels have viewers", setting: "channel.maxChannels")
            }
            forget(idle)
        }
        let now = MonotonicClock.now()
        let history = ChannelHistory(mostMessages: settings.history, mostBytes: settings.historyBytes)
        var machine = ChannelMachine(rules: settings.rules, history: history, now: now)
        restore(stored, in: &machine)
        let channel = OpenChannel(room, machine: machine, now: now)
        channels[room] = channel
        return channel
    }

    func forget(_ channel: OpenChannel) {
        channels[channel.room] = nil
        if let program = channel.program { programs[program] = nil }
        registry.services.news.unwatch(channel.room)
    }

    /// Forgets channels that nobody has used for a while.
    private func sweep() {
        let limit = MonotonicClock.now() - Int64(settings.idleSeconds) * 1_000_000_000
        for channel in channels.values
        where channel.viewers.isEmpty && channel.usedAt < limit && !isShown(channel) && !isUnstored(channel) {
            forget(channel)
        }
    }

    private func isUnstored(_ channel: OpenChannel) -> Bool {
        settings.isStored && channel.machine.memoryRevision != channel.storedRevision
    }

    /// Whether a layout on air shows something of the channel.
    private func isShown(_ channel: OpenChannel) -> Bool {
        !registry.services.values.shown(in: channel.room).isEmpty
    }

    // MARK: What rooms report

    private func takeNews() async {
        for room in registry.services.news.takeChanged() {
            do {
                let state = try await registry.snapshot(room)
                guard let channel = channels[room] else { continue }
                if let state, state.isStored { take(state, in: channel) } else { takeEnd(of: channel) }
            } catch {
                // The store cannot be read: the next change, or the next request, finds out.
                continue
            }
        }
    }

    /// Ends a channel, because its room is gone.
    private func takeEnd(of channel: OpenChannel) {
        perform(channel.machine.end(), on: channel)
        for (id, viewer) in channel.viewers where remove(id, from: channel) { viewer.end() }
        forget(channel)
    }

    private func take(_ state: RoomState, in channel: OpenChannel) {
        let program = state.tasksToWatch.first
        if channel.program != program {
            if let old = channel.program { programs[old] = nil }
            if let program { programs[program] = channel.room }
            channel.program = program
            takeAudience(of: channel)
        }
        perform(
            channel.machine.takeProgram(
                ChannelOnAir(program.flatMap { state.task($0)?.status }),
                hasParticipants: state.room.document.hasStreams), on: channel)
    }

    func takeAudience(of channel: OpenChannel) {
        let playback = channel.program.map { registry.services.viewers.viewers(of: $0) } ?? 0
        perform(
            channel.machine.takeAudience(
                ChannelAudience(channel: channel.viewers.count, playback: playback), now: MonotonicClock.now()),
            on: channel)
    }

    // MARK: Time

    /// Wakes channels that are due, and takes the viewers of programs whose number has changed.
    private func wake() {
        for departure in departures.take() { leave(departure.room, departure.viewer) }
        for task in registry.services.viewers.takeChanged() {
            if let channel = programs[task].flatMap({ channels[$0] }) { takeAudience(of: channel) }
        }
        guard let next = nextWake, next <= MonotonicClock.now() else { return }
        let now = MonotonicClock.now()
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

    /// Tells viewers, without waiting for any of them. One that is too slow is dropped.
    func perform(_ actions: [ChannelMachine.Action], on channel: OpenChannel) {
        shareValues(of: channel)
        var dropped: [ChannelViewer.ID] = []
        for action in actions {
            switch action {
            case .tell(let notice):
                guard !channel.viewers.isEmpty else { continue }
                let delivery = ChannelDelivery(notice)
                for (id, viewer) in channel.viewers where !viewer.deliver(delivery) { dropped.append(id) }
            case .wake(let time):
                channel.wakesAt = min(channel.wakesAt ?? time, time)
                nextWake = min(nextWake ?? time, time)
            }
        }
        guard !dropped.isEmpty else { return }
        for viewer in dropped where remove(viewer, from: channel) { metrics.count(.channelDrops) }
        takeAudience(of: channel)
    }
}

extension ChannelOnAir {
    /// Creates what viewers see from what the program's relay reports; nothing without a relay.
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
