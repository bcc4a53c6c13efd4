import MixModel

/// The state of a channel that survives restarts, apart from its messages.
///
/// Every field may be missing, so that documents of earlier releases can be read.
public struct ChannelMemory: Codable, Hashable, Sendable {
    /// Total likes of the room.
    public var likes: Int64?
    /// Slow mode in seconds, if a moderator has set it.
    public var slowMode: Int?
    /// Refused words, if a moderator has set them.
    public var words: [String]?
    public var muted: [Mute]?

    public struct Mute: Codable, Hashable, Sendable {
        public var user: UserID
        /// End of the mute in ms since 1970; `nil` = until a moderator ends it.
        public var until: Int64?

        public init(user: UserID, until: Int64? = nil) {
            self.user = user
            self.until = until
        }
    }

    public init(likes: Int64? = nil, slowMode: Int? = nil, words: [String]? = nil, muted: [Mute]? = nil) {
        self.likes = likes
        self.slowMode = slowMode
        self.words = words
        self.muted = muted
    }
}

extension ChannelMachine {
    /// Returns the state to be remembered at this moment.
    public func memory(at now: Int64, wallClock: Int64) -> ChannelMemory {
        ChannelMemory(
            likes: likes, slowMode: moderated.slowMode, words: moderated.words,
            muted: mutes.remembered(at: now, wallClock: wallClock))
    }

    /// Restores stored state. Call it before anything else. State that is no longer valid is left out: mutes that have
    /// ended, rules beyond the current limits, messages whose numbers do not increase.
    public mutating func restore(_ messages: [ChannelMessage], _ memory: ChannelMemory, now: Int64, wallClock: Int64) {
        history.restore(messages)
        lastMessage = max(lastMessage, history.messages.last?.id ?? 0)
        lastID = max(lastID, lastMessage)
        burst.restore(total: memory.likes ?? 0)
        mutes.restore(memory.muted ?? [], now: now, wallClock: wallClock)
        // A refused rule stays as configured.
        if let slowMode = memory.slowMode { _ = try? change(slowMode: slowMode, words: nil) }
        if let words = memory.words { _ = try? change(slowMode: nil, words: words) }
        memoryRevision = 0
    }
}
