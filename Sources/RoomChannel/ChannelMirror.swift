import MixModel

/// Decides how a node follows the channel of a room at another node, for its viewers here.
///
/// It knows what these viewers have received. Wherever the room goes, they receive the difference from the channel
/// there: each message once, by its number. Pure: the owner performs the actions in order, and reports the result of
/// the last one.
public struct ChannelMirror: Sendable {
    public enum Step: Hashable, Sendable {
        /// The node that has the room is being looked for.
        case seeking
        /// The node was asked for news and has not answered yet.
        case asking
        /// No node has the room, or the node does not answer: the next attempt follows after a pause.
        case resting
        /// The room is at this node, or has no more viewers here.
        case over
    }

    public enum Event: Hashable, Sendable {
        /// The room is at this node, and this is its channel.
        case home(ChannelSnapshot)
        /// Another node has the room.
        case elsewhere
        /// No node has the room, because it does not exist.
        case gone
        /// The node that has the room is unknown.
        case unknown
        /// The answer of the node that was asked.
        case answered(ChannelBulletin)
        /// The node that was asked does not have the room, or no longer has it.
        case moved
        /// The node that was asked does not answer.
        case silent
        /// The node that was asked runs a release without mirrors.
        case unsupported
        /// The pause is over.
        case rested
    }

    public enum Action: Hashable, Sendable {
        /// Finds the node that has the room.
        case seek
        /// Asks that node for the news after a place; `nil` = for the whole channel.
        case ask(ChannelPlace?)
        /// Pauses for this time, in ms.
        case rest(Int)
        case tell(ChannelNotice)
        /// Ends all viewers.
        case end
    }

    public private(set) var step: Step
    /// The channel as delivered to the viewers here.
    public private(set) var state: ChannelState
    public private(set) var history: ChannelHistory
    /// Number up to which comments and gifts have been delivered here, or were deleted before; 0 = there were none.
    public private(set) var known: Int64 = 0
    private var place: ChannelPlace?
    /// Number of attempts since the last answer.
    private var failures = 0

    /// Shortest and longest pause, in ms.
    static let pauses = 100...2000

    /// - Parameters:
    ///   - snapshot: The channel as delivered to the viewers here.
    ///   - place: The place of the snapshot in the log of the room's node; `nil` = that node has yet to be found.
    ///   - history: An empty history with the limits of the channel's own.
    public init(of snapshot: ChannelSnapshot, at place: ChannelPlace? = nil, history: ChannelHistory) {
        state = snapshot.state
        self.place = place
        self.history = history
        self.history.restore(snapshot.messages)
        self.history.forget(upTo: snapshot.droppedUpTo)
        known = max(snapshot.lastMessage, self.history.messages.last?.id ?? 0)
        step = place == nil ? .seeking : .asking
    }

    /// The first action.
    public var beginning: Action { step == .asking ? .ask(place) : .seek }

    /// - Returns: The next actions. Only the last one is followed by an event, and none is once the mirror is over.
    public mutating func take(_ event: Event) -> [Action] {
        switch (step, event) {
        case (.over, _): return []
        case (_, .home(let snapshot)):
            step = .over
            return changes(to: snapshot).map { .tell($0) }
        case (_, .gone):
            step = .over
            return (state.isLive ? [.tell(.ended)] : []) + [.end]
        case (.asking, .unsupported):
            step = .over
            return [.end]
        case (.seeking, .elsewhere):
            step = .asking
            return [.ask(place)]
        case (.asking, .answered(let bulletin)): return take(bulletin)
        case (.seeking, .unknown), (.asking, .moved), (.asking, .silent): return rest()
        case (.resting, .rested):
            step = .seeking
            return [.seek]
        default: return []
        }
    }

    private mutating func rest() -> [Action] {
        step = .resting
        let pause = min(Self.pauses.lowerBound << min(failures, 10), Self.pauses.upperBound)
        failures += 1
        return [.rest(pause)]
    }

    private mutating func take(_ bulletin: ChannelBulletin) -> [Action] {
        let notices: [ChannelNotice]
        if let snapshot = bulletin.snapshot {
            notices = changes(to: snapshot)
        } else if let place, bulletin.after == place {
            notices = bulletin.notices.filter { self.passes($0) }
        } else {
            // The answer is to another question: the whole channel is requested.
            place = nil
            return rest()
        }
        place = bulletin.place
        failures = 0
        return notices.map { .tell($0) } + [.ask(place)]
    }

    /// Records a notice.
    ///
    /// - Returns: Whether it is new here.
    private mutating func passes(_ notice: ChannelNotice) -> Bool {
        switch notice {
        case .message(let message) where message.kind == .like: state.likes = message.total ?? state.likes
        case .message(let message):
            guard message.id > known else { return false }
            append(message)
        case .deleted(let id): _ = history.remove(id)
        case .viewers(let audience):
            guard audience != state.audience else { return false }
            state.audience = audience
        case .onAir(let program): state.onAir = program
        case .opened(let title): (state.isLive, state.title) = (true, title)
        case .ended: state.isLive = false
        case .closed: break
        case .rules(let rules): state.rules = rules
        }
        return true
    }

    private mutating func append(_ message: ChannelMessage) {
        known = message.id
        history.append(message)
    }

    /// Adopts the current state of the channel.
    ///
    /// - Returns: The notices that convey the difference.
    private mutating func changes(to snapshot: ChannelSnapshot) -> [ChannelNotice] {
        let (before, now) = (state, snapshot.state)
        state = now
        var notices: [ChannelNotice] = []
        if now.rules != before.rules { notices.append(.rules(now.rules)) }
        if now.isLive, !before.isLive { notices.append(.opened(title: now.title)) }
        if now.onAir != before.onAir { notices.append(.onAir(now.onAir)) }
        if before.isLive, !now.isLive { notices.append(.ended) }
        let kept = Set(snapshot.messages.map(\.id))
        for message in history.messages where message.id > snapshot.droppedUpTo && !kept.contains(message.id) {
            _ = history.remove(message.id)
            notices.append(.deleted(id: message.id))
        }
        for message in snapshot.messages where message.id > known {
            append(message)
            notices.append(.message(message))
        }
        known = max(known, snapshot.lastMessage)
        history.forget(upTo: snapshot.droppedUpTo)
        if now.likes > before.likes {
            let likes = ChannelMessage(
                id: snapshot.lastID, kind: .like, count: Int(clamping: now.likes.subtracting(before.likes)),
                total: now.likes, sentAt: snapshot.lastID / 1000)
            notices.append(.message(likes))
        }
        if now.audience != before.audience { notices.append(.viewers(now.audience)) }
        return notices
    }
}

extension Int64 {
    fileprivate func subtracting(_ other: Int64) -> Int64 {
        let difference = subtractingReportingOverflow(other)
        return difference.overflow ? .max : difference.partialValue
    }
}
