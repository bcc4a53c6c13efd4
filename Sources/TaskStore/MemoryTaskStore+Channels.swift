import MixModel

extension MemoryTaskStore {
    public func commit(_ change: ChannelChange) async throws(StoreError) {
        try access { state, time throws(StoreError) in
            for requirement in change.require where !state.leases.holds(requirement) {
                throw .fenced("task \(requirement.task)")
            }
            guard state.rooms[change.room] != nil else { throw .conflict(document: change.room.rawValue) }
            state.channels.store(change, at: time)
            for message in change.outbox where state.subscriptions[message.subscription] != nil {
                state.outbox.append(message, at: time)
            }
        }
    }

    public func channel(of room: RoomID, limit: Int) async throws(StoreError) -> StoredChannel {
        try access { state, _ in state.channels.channel(of: room, limit: limit) }
    }
}

/// The channels of all rooms, in memory.
struct MemoryChannels {
    private struct Message {
        var stored: StoredMessage
        /// Time at which it was stored, in seconds since 1970.
        var at: Double
    }
    private struct Channel {
        var messages: [Message] = []
        var document: String?
    }
    private var channels: [RoomID: Channel] = [:]

    mutating func store(_ change: ChannelChange, at time: Double) {
        var channel = channels[change.room] ?? Channel()
        for message in change.messages where !channel.messages.contains(where: { $0.stored.id == message.id }) {
            channel.messages.append(Message(stored: message, at: time))
        }
        channel.messages.removeAll { change.removed.contains($0.stored.id) }
        channel.messages = Array(channel.messages.sorted { $0.stored.id < $1.stored.id }.suffix(change.kept))
        if let document = change.document { channel.document = document }
        channels[change.room] = channel
    }

    func channel(of room: RoomID, limit: Int) -> StoredChannel {
        guard let channel = channels[room] else { return StoredChannel() }
        return StoredChannel(messages: channel.messages.suffix(limit).map(\.stored), document: channel.document)
    }

    mutating func forget(_ room: RoomID) { channels[room] = nil }

    /// Removes the messages that are older than `retention` allows.
    ///
    /// - Returns: The number of messages removed.
    mutating func removeExpired(_ retention: Retention, at time: Double) -> Int {
        var removed = 0
        for (room, channel) in channels {
            let left = channel.messages.filter { $0.at >= time - retention.messageAge }
            removed += channel.messages.count - left.count
            channels[room]?.messages = left
        }
        let all = channels.flatMap { room, channel in channel.messages.map { (room, $0) } }
        guard all.count > retention.messages else { return removed }
        let surplus = all.sorted { $0.1.at < $1.1.at }.prefix(all.count - retention.messages)
        for (room, message) in surplus { channels[room]?.messages.removeAll { $0.stored.id == message.stored.id } }
        return removed + surplus.count
    }
}
