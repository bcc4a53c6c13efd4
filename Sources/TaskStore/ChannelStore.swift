import MixModel

/// The parts of rooms' channels that survive a restart: their last messages, and a document of everything else.
///
/// The store does not interpret messages and documents. They are deleted with their room.
public protocol ChannelStore: Sendable {
    /// Stores a change of a channel, whole or not at all; returns when it is durable.
    ///
    /// - Throws: `StoreError.conflict` if the room is not stored, `StoreError.fenced` if another node holds a lease,
    ///   `StoreError.overloaded` if too many changes are already waiting. Nothing is stored then.
    func commit(_ change: ChannelChange) async throws(StoreError)
    /// Returns the stored part of a room's channel; empty for a room that is not stored.
    ///
    /// - Parameter limit: Maximum number of messages. The newest ones are returned.
    func channel(of room: RoomID, limit: Int) async throws(StoreError) -> StoredChannel
}

/// A change of one room's channel.
public struct ChannelChange: Hashable, Sendable {
    public var room: RoomID
    /// Messages to append. A message whose number already exists in the room is left out.
    public var messages: [StoredMessage]
    /// Numbers of messages to remove.
    public var removed: [Int64]
    /// The channel's new document; `nil` keeps the old one.
    public var document: String?
    /// Number of newest messages of the room that are kept. Older ones are removed from time to time.
    public var kept: Int
    /// Messages for subscriptions, stored with the change.
    public var outbox: [OutboxMessage]
    /// Leases that the writer must still hold.
    public var require: [StoreChange.Requirement]

    public init(
        of room: RoomID, messages: [StoredMessage] = [], removed: [Int64] = [], document: String? = nil, kept: Int,
        outbox: [OutboxMessage] = [], require: [StoreChange.Requirement] = []
    ) {
        self.room = room
        self.messages = messages
        self.removed = removed
        self.document = document
        self.kept = kept
        self.outbox = outbox
        self.require = require
    }
}

/// A message of a channel in its stored form.
public struct StoredMessage: Hashable, Sendable {
    /// Number of the message, which increases within a room.
    public var id: Int64
    public var document: String

    public init(id: Int64, document: String) {
        self.id = id
        self.document = document
    }
}

/// The stored part of a channel.
public struct StoredChannel: Hashable, Sendable {
    /// Messages in ascending order of their numbers.
    public var messages: [StoredMessage]
    public var document: String?

    public init(messages: [StoredMessage] = [], document: String? = nil) {
        self.messages = messages
        self.document = document
    }
}
