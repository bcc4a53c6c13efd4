import MixModel

/// The last messages of a channel, oldest first, limited in number and in bytes.
public struct ChannelHistory: Hashable, Sendable {
    public private(set) var messages: [ChannelMessage] = []
    private var weight = 0
    /// Number up to which messages may be missing because of the limits, or because they were lost; 0 = none are
    /// missing.
    public private(set) var droppedUpTo: Int64 = 0
    /// Numbers of the messages that were deleted last, at most `mostMessages`: who comes back may still show them.
    public private(set) var deleted: [Int64] = []
    public let mostMessages: Int
    public let mostBytes: Int

    public init(mostMessages: Int = 200, mostBytes: Int = 256 << 10) {
        self.mostMessages = mostMessages
        self.mostBytes = mostBytes
    }

    /// Adds a message, whose number must exceed all others.
    mutating func append(_ message: ChannelMessage) {
        messages.append(message)
        weight += message.weight
        var dropped = 0
        while messages.count - dropped > mostMessages || weight > mostBytes, dropped < messages.count {
            weight -= messages[dropped].weight
            forget(upTo: messages[dropped].id)
            dropped += 1
        }
        messages.removeFirst(dropped)
    }

    /// Restores stored messages, oldest first. The list must be empty.
    mutating func restore(_ stored: [ChannelMessage]) {
        var last: Int64 = 0
        for message in stored where message.id > last {
            append(message)
            last = message.id
        }
        // Messages before a full list may have been dropped from the store.
        if messages.count == mostMessages, let first = messages.first { droppedUpTo = max(droppedUpTo, first.id - 1) }
    }

    /// Records that messages up to this number may be missing.
    mutating func forget(upTo id: Int64) { droppedUpTo = max(droppedUpTo, id) }

    /// - Returns: Whether there was such a message.
    mutating func remove(_ id: Int64) -> Bool {
        guard let index = messages.firstIndex(where: { $0.id == id }) else { return false }
        weight -= messages.remove(at: index).weight
        if deleted.count >= mostMessages { deleted.removeFirst() }
        deleted.append(id)
        return true
    }

    /// Returns the messages with a higher number, oldest first.
    public func after(_ id: Int64) -> ArraySlice<ChannelMessage> {
        messages[(messages.firstIndex { $0.id > id } ?? messages.endIndex)...]
    }

    /// Returns whether no message after this number is missing, except deleted ones.
    public func reaches(_ id: Int64) -> Bool { id >= droppedUpTo }
}
