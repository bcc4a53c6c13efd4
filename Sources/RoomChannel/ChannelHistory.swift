import MixModel

/// The last messages of a channel, oldest first, limited by number and by bytes.
public struct ChannelHistory: Hashable, Sendable {
    public private(set) var messages: [ChannelMessage] = []
    private var weight = 0
    /// Number up to which messages may be missing because of the limits, or because nobody knows them any more; 0 = none is.
    public private(set) var droppedUpTo: Int64 = 0
    /// Numbers of the messages that were deleted last, at most `mostMessages`: who comes back may still show them.
    public private(set) var deleted: [Int64] = []
    public let mostMessages: Int
    public let mostBytes: Int

    public init(mostMessages: Int = 200, mostBytes: Int = 256 << 10) {
        self.mostMessages = mostMessages
        self.mostBytes = mostBytes
    }

    /// Adds a message with a number above all others.
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

    /// Takes over messages that were stored, the oldest first. The list is empty before.
    mutating func restore(_ stored: [ChannelMessage]) {
        var last: Int64 = 0
        for message in stored where message.id > last {
            append(message)
            last = message.id
        }
        // What was stored before a full list is gone.
        if messages.count == mostMessages, let first = messages.first { droppedUpTo = max(droppedUpTo, first.id - 1) }
    }

    /// Takes note that messages up to this number may be missing.
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

    /// Whether nothing after this number is missing, except what was deleted.
    public func reaches(_ id: Int64) -> Bool { id >= droppedUpTo }
}
