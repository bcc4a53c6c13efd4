import MixModel

/// The state of a channel that moves with its room to another node.
public struct ChannelHandover: Hashable, Codable, Sendable {
    /// The history, oldest first; empty if the store has it.
    public var messages: [ChannelMessage]
    /// Number up to which messages may be missing in the history.
    public var droppedUpTo: Int64
    /// Number of the last message, likes included.
    public var lastID: Int64
    /// Number of the last comment or gift, whether or not it was deleted.
    public var lastMessage: Int64
    public var memory: ChannelMemory
    public var onAir: ChannelOnAir
    public var title: String?
    /// The user who opened the room through the channel.
    public var opener: UserID?
    public var isOpened: Bool
    public var isClosed: Bool
    /// Whether the room was created through the channel.
    public var isMade = false
}

extension ChannelMachine {
    /// Maximum time in µs by which message numbers may be ahead of the clock.
    static let mostAhead: Int64 = 86_400_000_000

    /// Returns the state that the next node requires. The channel must not change afterwards.
    ///
    /// - Parameter isStored: Whether the store has the messages.
    public func handover(at now: Int64, wallClock: Int64, isStored: Bool) -> ChannelHandover {
        ChannelHandover(
            messages: isStored ? [] : history.messages, droppedUpTo: history.droppedUpTo, lastID: lastID,
            lastMessage: lastMessage, memory: memory(at: now, wallClock: wallClock), onAir: onAir, title: title,
            opener: opener,
            isOpened: isOpened, isClosed: isClosed)
    }

    /// Continues the channel of another node. Call it before anything else.
    ///
    /// - Parameter stored: The messages of the store, if they are there.
    public mutating func takeOver(
        _ handover: ChannelHandover, stored: [ChannelMessage]? = nil, now: Int64, wallClock: Int64
    ) {
        restore(stored ?? handover.messages, handover.memory, now: now, wallClock: wallClock)
        history.forget(upTo: handover.droppedUpTo)
        raise(to: handover.lastID, wallClock: wallClock)
        lastMessage = min(max(lastMessage, handover.lastMessage), lastID)
        (title, opener, onAir) = (handover.title, handover.opener, handover.onAir)
        (isOpened, isClosed) = (handover.isOpened, handover.isClosed)
        // The store may have an earlier memory.
        memoryRevision += 1
    }

    /// Starts without the previous state, because the node that had it is lost.
    ///
    /// - Parameter mirror: The channel as delivered to viewers at this node; `nil` = none.
    public mutating func beginAnew(after mirror: ChannelMirror? = nil, now: Int64, wallClock: Int64) {
        if let mirror {
            restore(
                mirror.history.messages, ChannelMemory(likes: mirror.state.likes), now: now, wallClock: wallClock)
            (title, onAir) = (mirror.state.title, mirror.state.onAir)
        }
        isAnew = true
        lastMessage = max(lastMessage, mirror?.known ?? 0)
        lastID = max(lastID, wallClock, lastMessage)
        history.forget(upTo: lastID)
    }

    /// Records that another node has sent its viewers a message with this number. The next message gets a higher
    /// number.
    public mutating func catchUp(to id: Int64, wallClock: Int64) {
        guard id > lastID else { return }
        raise(to: id, wallClock: wallClock)
        // Earlier messages are missing here, but have not been deleted.
        if isAnew { history.forget(upTo: lastID) }
    }

    private mutating func raise(to id: Int64, wallClock: Int64) {
        lastID = max(lastID, min(id, wallClock.addingReportingOverflow(Self.mostAhead).partialValue))
    }
}
