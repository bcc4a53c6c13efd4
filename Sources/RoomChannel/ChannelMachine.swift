import MixModel

/// Decides about everything in one room's channel: which messages are taken, what everybody is told, and when.
///
/// Pure: times are arguments, in ns of any monotonic clock, and `wallClock` in µs since 1970. The owner performs the
/// actions in their order. Every list in it is limited.
public struct ChannelMachine: Sendable {
    public private(set) var rules: ChannelRules
    public internal(set) var history: ChannelHistory
    /// Likes of the room so far, those included that have yet to be told.
    public var likes: Int64 { burst.total }
    public private(set) var audience = ChannelAudience()
    public internal(set) var onAir = ChannelOnAir()
    /// Whether a participant is on air, or the room was opened through the channel and has not been closed.
    public private(set) var isLive = false
    public internal(set) var title: String?
    /// Who opened the room through the channel; `nil` = nobody, or a moderator.
    public internal(set) var opener: UserID?

    /// Grows with every change of what `memory` returns, except that time passes.
    public internal(set) var memoryRevision = 0

    var lastID: Int64 = 0
    /// Number of the last comment or gift, whether or not it was deleted; 0 = there was none.
    var lastMessage: Int64 = 0
    /// Rules that a moderator has set.
    private(set) var moderated: (slowMode: Int?, words: [String]?) = (nil, nil)
    private var senders: SenderRates
    var mutes = ChannelMutes()
    var burst = LikeBurst()
    /// Audience as everybody was told it.
    private(set) var toldAudience = ChannelAudience()
    private var audienceToldAt = Int64.min
    var isOpened = false
    private var hasParticipants = false
    /// Whether the room was closed while participants were on air, so that it is not live before they have gone.
    var isClosed = false
    /// Whether it began without what another node knew of the channel.
    var isAnew = false

    /// Shortest time between two notices about viewers, in ns.
    public static let audienceInterval: Int64 = 1_000_000_000

    public init(rules: ChannelRules, history: ChannelHistory = ChannelHistory(), now: Int64) {
        self.rules = rules
        self.history = history
        senders = SenderRates(rules, now: now)
    }

    /// What the owner does.
    public enum Action: Hashable, Sendable {
        case tell(ChannelNotice)
        /// Call `passed(_:)` at this time, in ns. A later one replaces none: several may be due.
        case wake(at: Int64)
    }

    // MARK: Messages

    /// Takes a message, or throws the reason why not. A refused message changes nothing that others see.
    ///
    /// - Returns: The message with its number. A like is counted at once and told with the next burst.
    public mutating func send(
        _ draft: ChannelDraft, from sender: ChannelSender, now: Int64, wallClock: Int64
    ) throws(ChannelRefusal) -> (message: ChannelMessage, actions: [Action]) {
        let checked = try rules.check(draft, from: sender)
        if !sender.isModerator {
            if let seconds = mutes.secondsLeft(of: sender.user, at: now) { throw .muted(secondsLeft: seconds) }
        }
        try senders.take(draft.kind, from: sender, rules, at: now)
        lastID = max(lastID + 1, wallClock)
        var message = ChannelMessage(
            id: lastID, kind: draft.kind, user: sender.user, name: checked.name, text: checked.text,
            count: checked.count, gift: draft.gift, sentAt: wallClock / 1000)
        guard draft.kind == .like else {
            history.append(message)
            lastMessage = message.id
            return (message, [.tell(.message(message))])
        }
        burst.add(checked.count ?? 1, of: sender.user, name: checked.name)
        memoryRevision += 1
        message.total = burst.total
        return (message, tellLikes(at: now, id: message.id, wallClock: wallClock))
    }

    /// Deletes a message from the history and has it disappear for everybody.
    public mutating func delete(_ id: Int64) throws(ChannelRefusal) -> [Action] {
        guard history.remove(id) else { throw .unknownMessage(id) }
        return [.tell(.deleted(id: id))]
    }

    private mutating func tellLikes(at now: Int64, id: Int64, wallClock: Int64) -> [Action] {
        switch burst.take(at: now, perSecond: rules.likeNotices) {
        case .nothing: return []
        case .later(let time): return [.wake(at: time)]
        case .now(let likes):
            return [
                .tell(
                    .message(
                        ChannelMessage(
                            id: id, kind: .like, user: likes.user, name: likes.name, count: likes.count,
                            total: likes.total, sentAt: wallClock / 1000)))
            ]
        }
    }

    // MARK: Moderation

    /// Lets a user send nothing.
    ///
    /// - Parameter seconds: How long; `nil` = until the mute is ended.
    public mutating func mute(_ user: UserID, for seconds: Int?, now: Int64) throws(ChannelRefusal) {
        try mutes.add(user, for: seconds, now: now)
        memoryRevision += 1
    }

    /// - Returns: Whether the user was muted.
    public mutating func unmute(_ user: UserID, now: Int64) -> Bool {
        memoryRevision += 1
        return mutes.remove(user, now: now)
    }

    /// Returns the muted users with the seconds left, `nil` without an end.
    public func muted(at now: Int64) -> [(user: UserID, secondsLeft: Int?)] { mutes.list(at: now) }

    /// Changes what a moderator may change; `nil` leaves it as it is.
    public mutating func change(slowMode: Int?, words: [String]?) throws(ChannelRefusal) -> [Action] {
        var rules = rules
        if let slowMode {
            guard 0...ChannelRules.longestSlowMode ~= slowMode else {
                throw .badRules("Slow mode takes 0 to \(ChannelRules.longestSlowMode) seconds.")
            }
            rules.slowMode = slowMode
        }
        if let words { rules.words = try WordList(words) }
        moderated = (slowMode ?? moderated.slowMode, words ?? moderated.words)
        memoryRevision += 1
        guard rules != self.rules else { return [] }
        self.rules = rules
        return [.tell(.rules(rules.shown))]
    }

    // MARK: The room

    /// Opens the room through the channel.
    ///
    /// - Parameter title: Title to show, as long as a name at most; `nil` leaves it as it is.
    public mutating func open(title: String?, by user: UserID?) throws(ChannelRefusal) -> [Action] {
        let title = try title.map { title throws(ChannelRefusal) in try rules.checkName(title) } ?? nil
        if !isOpened {
            (isOpened, isClosed) = (true, false)
            opener = user
        }
        if let title { self.title = title }
        return tellLife()
    }

    /// Whether this sender may close the room or open it anew.
    public func mayClose(_ sender: ChannelSender) -> Bool {
        sender.isModerator || !isOpened || (opener != nil && opener == sender.user)
    }

    /// Closes the room, whether or not participants are still on air.
    public mutating func close() -> [Action] {
        (isOpened, isClosed, opener) = (false, hasParticipants, nil)
        let life = tellLife()
        return life.isEmpty ? [] : life + [.tell(.closed)]
    }

    /// Takes note that the room is gone.
    public mutating func end() -> [Action] {
        (isOpened, opener) = (false, nil)
        return takeProgram(ChannelOnAir(), hasParticipants: false)
    }

    /// Takes the program as it is now.
    public mutating func takeProgram(_ program: ChannelOnAir, hasParticipants: Bool) -> [Action] {
        self.hasParticipants = hasParticipants
        if !hasParticipants { isClosed = false }
        let life = tellLife()
        guard onAir != program else { return life }
        onAir = program
        // The opening comes before the picture, and the end after it.
        return isLive ? life + [.tell(.onAir(program))] : [.tell(.onAir(program))] + life
    }

    private mutating func tellLife() -> [Action] {
        let isLive = isOpened || (hasParticipants && !isClosed)
        guard isLive != self.isLive else { return [] }
        self.isLive = isLive
        return [.tell(isLive ? .opened(title: title) : .ended)]
    }

    /// Takes the number of viewers, which is told once a second at most.
    public mutating func takeAudience(_ audience: ChannelAudience, now: Int64) -> [Action] {
        self.audience = audience
        return tellAudience(at: now)
    }

    private mutating func tellAudience(at now: Int64) -> [Action] {
        guard audience != toldAudience else { return [] }
        let due = audienceToldAt.addingReportingOverflow(Self.audienceInterval)
        guard due.overflow || audienceToldAt == .min || now >= due.partialValue else {
            return [.wake(at: due.partialValue)]
        }
        toldAudience = audience
        audienceToldAt = now
        return [.tell(.viewers(audience))]
    }

    // MARK: Time

    /// Tells what had to wait.
    public mutating func passed(_ now: Int64, wallClock: Int64) -> [Action] {
        lastID = max(lastID + 1, wallClock)
        return tellLikes(at: now, id: lastID, wallClock: wallClock) + tellAudience(at: now)
    }
}
