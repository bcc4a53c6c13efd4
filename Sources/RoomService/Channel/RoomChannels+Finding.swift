import EncodedMedia
import Foundation
import MixModel
import RoomChannel
import TaskStore

/// Creation and removal of the channels of this node's rooms.
extension RoomChannels {
    /// Returns the channel of a room that this node has at this moment. Changes made before the next suspension are not
    /// lost.
    ///
    /// - Throws: `OrchestratorError` as `RoomHomes.enter` if another node has the room, or if the room is unknown.
    func home(of room: RoomID) async throws(OrchestratorError) -> OpenChannel {
        guard let node = cluster?.node else { return try await channel(of: room) }
        for _ in 0..<3 {
            let channel = try await channel(of: room)
            do throws(OrchestratorError) {
                try await node.enter(room)
            } catch {
                if error.code == "room-elsewhere", channels[room] === channel { letGo(channel) }
                throw error
            }
            if isHome(channel) { return channel }
            // Another node had the room in the meantime.
            if channels[room] === channel, !isConfirmed(channel) { letGo(channel) }
        }
        throw .moving(room.rawValue)
    }

    /// Returns whether no other node can have the channel's room at this moment, and the room is not about to move.
    func isHome(_ channel: OpenChannel) -> Bool {
        guard channels[channel.room] === channel, !channel.isFrozen else { return false }
        guard let node = cluster?.node else { return true }
        return node.isSure(of: channel.room) && isConfirmed(channel)
    }

    /// Returns whether no other node has had the channel's room since the channel was made.
    func isConfirmed(_ channel: OpenChannel) -> Bool {
        guard let node = cluster?.node else { return true }
        guard let epoch = node.epoch(of: channel.room) else { return false }
        // The lease was lost, and taken again before any other node took it.
        if epoch == channel.epoch + 1 { channel.epoch = epoch }
        return epoch == channel.epoch
    }

    /// Returns the room's channel, creating it for a room that exists. In a cluster the node takes the room, because a
    /// channel is open at one node only.
    ///
    /// - Throws: As `home(of:)`.
    func channel(of room: RoomID) async throws(OrchestratorError) -> OpenChannel {
        if let channel = channels[room] { return channel }
        // Watched before it is read, so that no change in between is missed.
        registry.services.news.watch(room)
        let (stored, state): (StoredChannel, RoomState?)
        do throws(OrchestratorError) {
            var found = try await registry.snapshot(room)
            if let node = cluster?.node, found?.isStored == true {
                // A room that does not exist is not taken. Changes that another node has stored until now are read
                // afterwards.
                try await node.enter(room)
                found = try await registry.snapshot(room)
            }
            stored = try await self.stored(room)
            state = found
        } catch {
            if channels[room] == nil { registry.services.news.unwatch(room) }
            throw error
        }
        guard let state, state.isStored else {
            if let channel = channels[room] { takeEnd(of: channel) } else { registry.services.news.unwatch(room) }
            throw .noChannelRoom(room)
        }
        // Another caller may have been faster.
        if let channel = channels[room] {
            take(state, in: channel)
            return channel
        }
        let channel = try make(room, stored)
        take(state, in: channel)
        if let mirror = mirrors[room] { goOn(with: channel, after: mirror) }
        return channel
    }

    private func make(_ room: RoomID, _ stored: StoredChannel) throws(OrchestratorError) -> OpenChannel {
        let held: Int64? = if let node = cluster?.node { node.epoch(of: room) } else { 0 }
        guard let epoch = held else {
            registry.services.news.unwatch(room)
            throw .moving(room.rawValue)
        }
        guard makePlace(for: room.app) else {
            registry.services.news.unwatch(room)
            throw noPlace(for: room.app)
        }
        let now = MonotonicClock.now()
        var machine = ChannelMachine(rules: settings.rules, history: emptyHistory, now: now)
        let handover = takeHandover(of: room, epoch: epoch)
        restore(stored, handover, mirrors[room], in: &machine)
        let channel = OpenChannel(room, machine: machine, now: now)
        channel.epoch = epoch
        channel.isMadeHere = handover?.isMade ?? false
        channel.isFresh = handover != nil || mirrors[room] != nil
        channels[room] = channel
        channelsOfApps[room.app, default: 0] += 1
        // A caller who was refused in the meantime may have stopped the watch.
        registry.services.news.watch(room)
        return channel
    }

    /// Makes a place for one more channel of an app if there is none: drops an unused channel of which the least is
    /// lost. No other app gets fewer channels than are kept for it.
    ///
    /// - Returns: False if all channels that could be dropped are in use.
    private func makePlace(for app: AppID) -> Bool {
        let shares = settings.channelShares
        guard !shares.hasPlace(for: app, taken: channelsOfApps) else { return true }
        let givers = shares.givers(to: app, taken: channelsOfApps)
        let unused = channels.values.filter { givers.contains($0.room.app) && !$0.isFollowed && !$0.isFrozen }
        let least = unused.min { one, other in
            let (loss, otherLoss) = (lossWithout(one), lossWithout(other))
            return loss == otherLoss ? one.usedAt < other.usedAt : loss < otherLoss
        }
        guard let least else { return false }
        forget(least)
        return true
    }

    private func noPlace(for app: AppID) -> OrchestratorError {
        let most = settings.mostChannels
        let isAlone = settings.apps == [app]
        return .channelsFull(
            isAlone
                ? "\(most) channels have viewers"
                : "the app \(app) has \(channelsOfApps[app] ?? 0) of the \(most) channels, and the other ones have "
                    + "viewers or are kept for other apps",
            setting: "channel.maxChannels")
    }

    /// Restores a new channel's state from the node that had the room, the store, or the mirror at this node.
    private func restore(
        _ stored: StoredChannel, _ handover: ChannelHandover?, _ mirror: MirroredChannel?,
        in machine: inout ChannelMachine
    ) {
        let (now, wallClock) = (MonotonicClock.now(), Int64(wallClock() * 1e6))
        let (messages, memory) = read(stored)
        if let handover {
            machine.takeOver(
                handover, stored: settings.isStored ? messages : nil, now: now, wallClock: wallClock)
        } else if settings.isStored {
            machine.restore(messages, memory, now: now, wallClock: wallClock)
        } else if cluster != nil {
            machine.beginAnew(after: mirror?.machine, now: now, wallClock: wallClock)
        }
    }

    var emptyHistory: ChannelHistory {
        ChannelHistory(mostMessages: settings.history, mostBytes: settings.historyBytes)
    }

    func forget(_ channel: OpenChannel) {
        if channels.removeValue(forKey: channel.room) != nil {
            let ofApp = (channelsOfApps[channel.room.app] ?? 1) - 1
            channelsOfApps[channel.room.app] = ofApp == 0 ? nil : ofApp
        }
        channel.watchers.dismiss()
        if let program = channel.program { programs[program] = nil }
        registry.services.news.unwatch(channel.room)
    }

    func isUnstored(_ channel: OpenChannel) -> Bool {
        settings.isStored && channel.machine.memoryRevision != channel.storedRevision
    }

    /// Returns a number that is larger the more is lost if a channel without viewers is dropped.
    private func lossWithout(_ channel: OpenChannel) -> Int {
        if channel.machine.isOpened { return 3 }
        if isUnstored(channel) { return 2 }
        return isShown(channel) ? 1 : 0
    }

    /// Returns whether a layout on air shows values of the channel.
    func isShown(_ channel: OpenChannel) -> Bool {
        !registry.services.values.shown(in: channel.room).isEmpty
    }
}
