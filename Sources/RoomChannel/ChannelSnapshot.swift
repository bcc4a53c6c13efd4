import MixModel

/// A channel at one moment, for a node that mirrors it.
public struct ChannelSnapshot: Hashable, Codable, Sendable {
    /// The history, oldest first.
    public var messages: [ChannelMessage]
    /// Number up to which messages may be missing in the history; 0 = none are missing.
    public var droppedUpTo: Int64
    /// Number of the last message, likes included.
    public var lastID: Int64
    /// Number of the last comment or gift, whether or not it was deleted; 0 = there was none.
    public var lastMessage: Int64
    /// The state as announced to the viewers: without likes and numbers of viewers that are yet to be announced.
    public var state: ChannelState

    public init(
        messages: [ChannelMessage] = [], droppedUpTo: Int64 = 0, lastID: Int64 = 0, lastMessage: Int64 = 0,
        state: ChannelState
    ) {
        self.messages = messages
        self.droppedUpTo = droppedUpTo
        self.lastID = lastID
        self.lastMessage = lastMessage
        self.state = state
    }
}

extension ChannelMachine {
    public var snapshot: ChannelSnapshot {
        var state = state
        state.likes = burst.announced
        state.audience = announcedAudience
        return ChannelSnapshot(
            messages: history.messages, droppedUpTo: history.droppedUpTo, lastID: lastID, lastMessage: lastMessage,
            state: state)
    }
}
