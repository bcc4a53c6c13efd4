import EncodedMedia
import Foundation
import MixModel
import RoomChannel
import TaskStore

/// Channels that survive a restart: with `ChannelSettings.isStored`, the store keeps their messages and their memory.
///
/// A message is stored before it is acknowledged. Likes, mutes and rules change often or all at once: they follow
/// within `memoryInterval`, and a single task writes them, so that an older document never replaces a newer one.
extension RoomChannels {
    /// Time between two writes of channels' memory. A crash loses at most that much of it.
    static let memoryInterval: Duration = .seconds(1)

    // MARK: Reading

    /// Returns the stored state of a room's channel; empty if channels are not stored.
    func stored(_ room: RoomID) async throws(OrchestratorError) -> StoredChannel {
        guard settings.isStored else { return StoredChannel() }
        do {
            return try await registry.services.store.channel(of: room, limit: settings.history)
        } catch {
            throw OrchestratorError(error)
        }
    }

    /// Decodes stored messages and memory. Entries that cannot be decoded are left out.
    func read(_ stored: StoredChannel) -> (messages: [ChannelMessage], memory: ChannelMemory) {
        let decoder = JSONDecoder()
        let messages = stored.messages.compactMap { message in
            try? decoder.decode(ChannelMessage.self, from: Data(message.document.utf8))
        }
        let memory = stored.document.flatMap { try? decoder.decode(ChannelMemory.self, from: Data($0.utf8)) }
        return (messages, memory ?? ChannelMemory())
    }

    // MARK: Writing

    /// Stores a message that all viewers have received. If that fails, the message is deleted again.
    ///
    /// - Throws: `OrchestratorError` if the room was deleted or belongs to another node, or the store accepts no
    ///   changes.
    func store(_ message: ChannelMessage, of channel: OpenChannel) async throws(OrchestratorError) {
        guard settings.isStored else { return }
        do throws(OrchestratorError) {
            let document = try Self.document(message)
            try await commit(
                ChannelChange(
                    of: channel.room, messages: [StoredMessage(id: message.id, document: document)],
                    kept: settings.history, outbox: messages(about: .channelMessage(message), in: channel.room)))
        } catch {
            // In the meantime a moderator may have deleted it, or the room may be gone.
            if channels[channel.room] === channel, let actions = try? channel.machine.delete(message.id) {
                perform(actions, on: channel)
            }
            throw error
        }
    }

    /// Messages to the subscriptions that want to know about an occurrence.
    private func messages(about kind: Occurrence.Kind, in room: RoomID) -> [OutboxMessage] {
        registry.services.subscriptions.messages(for: [Occurrence(room: room, at: wallClock(), kind: kind)])
    }

    /// Removes a message from the store.
    func removeStored(_ id: Int64, of room: RoomID) async throws(OrchestratorError) {
        guard settings.isStored else { return }
        try await commit(
            ChannelChange(
                of: room, removed: [id], kept: settings.history,
                outbox: messages(about: .channelMessageDeleted(id: id), in: room))
        )
    }

    /// Stores the memory of channels that has changed. For one caller at a time.
    func storeMemories() async {
        let changed = channels.values.filter { $0.machine.memoryRevision != $0.storedRevision }.map(\.room)
        await withTaskGroup(of: Void.self) { group in
            for room in changed { group.addTask { await self.storeMemory(of: room) } }
        }
    }

    func storeMemory(of room: RoomID) async {
        guard let channel = channels[room] else { return }
        let revision = channel.machine.memoryRevision
        let memory = channel.machine.memory(at: MonotonicClock.now(), wallClock: Int64(wallClock() * 1e6))
        do throws(OrchestratorError) {
            try await commit(
                ChannelChange(of: room, document: try Self.document(memory), kept: settings.history))
            channel.storedRevision = revision
        } catch {
            // A store that accepts no changes reports it itself; the next round tries again. For a room that was
            // deleted or belongs to another node, nothing is left to store.
            if error.kind != .unavailable { channel.storedRevision = revision }
        }
    }

    /// Stores a change of the channel of a room that was found to be this node's. Includes its lease, so that nothing
    /// is stored if another node has the room.
    private func commit(_ change: ChannelChange) async throws(OrchestratorError) {
        do {
            try await registry.services.store.commit(change)
        } catch {
            switch error {
            case .conflict: throw .noChannelRoom(change.room)
            case .fenced where cluster != nil: throw .moving(change.room.rawValue)
            default: throw OrchestratorError(error)
            }
        }
        registry.services.subscriptions.stored(change.outbox)
    }

    private static func document(_ value: some Encodable) throws(OrchestratorError) -> String {
        do {
            return try DocumentEncoder.json(value)
        } catch {
            throw OrchestratorError(StoreError.engine("a message cannot be written: \(error)"))
        }
    }
}
