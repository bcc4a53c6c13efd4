import MixModel

/// Decides about everything in one room's channel: which messages are accepted, which notices the viewers get, and
/// when.
///
/// Pure: times are arguments, in ns of any monotonic clock, and `wallClock` in µs since 1970. The owner performs the
/// actions in order. Every list in it is limited.
public struct ChannelMachine: Sendable {
    public private(set) var rules: ChannelRules
    public internal(set) var history: ChannelHistory
    /// Total likes of the room, including those not yet announced.
    public var likes: Int64 { burst.total }
    public private(set) var audience = ChannelAudience()
    public internal(set) var onAir = ChannelOnAir()
    /// Whether a participant is on air, or the room was opened through the channel and has not been closed.
    public private(set) var isLive = false
    public internal(set) var title: String?
    /// The user who opened the room through the channel; `nil` = it was not opened, or a moderator opened it.
    public internal(set) var opener: UserID?

    /// Grows with every change of the result of `memory`, apart from the passing of time.
    public internal(set) var memoryRevision = 0

    var lastID: Int64 = 0
    /// Number of the last comment or gift, whether or not it was deleted; 0 = there was none.
    var lastMessage: Int64 = 0
    /// Rules set by a moderator.
    private(set) var moderated: (slowMode: Int?, words: [String]?) = (nil, nil)
    private var senders: SenderRates
    var mutes = ChannelMutes()
    var burst = LikeBurst()
    /// The audience as last announced.
    private(set) var announcedAudience = ChannelAudience()
    private var audienceAnnouncedAt = Int64.min
    /// Whether the room was opened through the channel and has not been closed.
    public internal(set) var isOpened = false
    private var hasParticipants = false
    /// Whether the room was closed while participants were on air, so that it is not live until they have left.
    var isClosed = false
    /// Whether the channel started without the state that another node had of it.
    var isAnew = false

    /// Shortest time between two notices about viewers, in ns.
    public static let audienceInterval: Int64 = 1_000_000_000

    public init(rules: ChannelRules, history: ChannelHistory = ChannelHistory(), now: Int64) {
        self.rules = rules
        self.history = history
        senders = SenderRates(rules, now: now)
    }

    /// An action for the owner.
    public enum Action: Hashable, Sendable {
        case tell(ChannelNotice)
        /// Call `passed(_:)` at this time, in ns. A later request does not replace an earlier one: several may be
        /// pending.
        case wake(at: Int64)
    }

    // MARK: Messages

    /// Accepts a message, or throws the reason for refusing it. A refused message changes nothing that others see.
    ///
    /// - Returns: The message with its number. A like is counted at once and announced with the next burst.
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
        return (message, announceLikes(at: now, id: message.id, wallClock: wallClock))
    }

    /// Deletes a message from the history, and makes it disappear for all viewers.
    ///
    /// - Throws: `ChannelRefusal` if the history has no such message.
    public mutating func delete(_ id: Int64) throws(ChannelRefusal) -> [Action] {
        guard history.remove(id) else { throw .unknownMessage(id) }
        return [.tell(.deleted(id: id))]
    }

    private mutating func announceLikes(at now: Int64, id: Int64, wallClock: Int64) -> [Action] {
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

    /// Forbids a user to send messages.
    ///
    /// - Parameter seconds: Duration of the mute; `nil` = until it is ended.
    /// - Throws: `ChannelRefusal` if the duration is out of range, or too many users are muted.
    public mutating func mute(_ user: UserID, for seconds: Int?, now: Int64) throws(ChannelRefusal) {
        try mutes.add(user, for: seconds, now: now)
        memoryRevision += 1
    }

    /// - Returns: Whether the user was muted.
    public mutating func unmute(_ user: UserID, now: Int64) -> Bool {
        memoryRevision += 1
        return mutes.remove(user, now: now)
    }

    /// Returns the muted users with the remaining seconds; `nil` = indefinitely.
    public func muted(at now: Int64) -> [(user: UserID, secondsLeft: Int?)] { mutes.list(at: now) }

    /// Changes rules that moderators may change; `nil` leaves a rule unchanged.
    ///
    /// - Parameter slowMode: Seconds between two messages of a user.
    /// - Throws: `ChannelRefusal` if a rule is out of range. Then no rule changes.
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
    /// - Parameter title: Title to show, with the maximum length of a name; `nil` leaves it unchanged.
    /// - Throws: `ChannelRefusal` if the title is too long or has a forbidden word.
    public mutating func open(title: String?, by user: UserID?) throws(ChannelRefusal) -> [Action] {
        let title = try title.map { title throws(ChannelRefusal) in try rules.checkName(title) } ?? nil
        if !isOpened {
            (isOpened, isClosed) = (true, false)
            opener = user
        }
        if let title { self.title = title }
        return tellLife()
    }

    /// Returns whether this sender may open the room, or open it again.
    public func mayOpen(_ sender: ChannelSender) -> Bool { !isOpened || mayClose(sender) }

    /// Returns whether this sender may close the room. One that is live without having been opened through the channel belongs
    /// to its participants: only a moderator may close it.
    public func mayClose(_ sender: ChannelSender) -> Bool {
        sender.isModerator || (isOpened ? opener != nil && opener == sender.user : !isLive)
    }

    /// Closes the room, whether or not participants are still on air.
    public mutating func close() -> [Action] {
        (isOpened, isClosed, opener) = (false, hasParticipants, nil)
        let life = tellLife()
        return life.isEmpty ? [] : life + [.tell(.closed)]
    }

    /// Ends the channel, because the room was deleted.
    public mutating func end() -> [Action] {
        (isOpened, opener) = (false, nil)
        return takeProgram(ChannelOnAir(), hasParticipants: false)
    }

    /// Updates the program on air.
    public mutating func takeProgram(_ program: ChannelOnAir, hasParticipants: Bool) -> [Action] {
        self.hasParticipants = hasParticipants
        if !hasParticipants { isClosed = false }
        let life = tellLife()
        guard onAir != program else { return life }
        onAir = program
        // The opening is announced before the program, and the end after it.
        return isLive ? life + [.tell(.onAir(program))] : [.tell(.onAir(program))] + life
    }

    private mutating func tellLife() -> [Action] {
        let isLive = isOpened || (hasParticipants && !isClosed)
        guard isLive != self.isLive else { return [] }
        self.isLive = isLive
        return [.tell(isLive ? .opened(title: title) : .ended)]
    }

    /// Updates the number of viewers, which is announced at most once a second.
    public mutating func takeAudience(_ audience: ChannelAudience, now: Int64) -> [Action] {
        self.audience = audience
        return announceAudience(at: now)
    }

    private mutating func announceAudience(at now: Int64) -> [Action] {
        guard audience != announcedAudience else { return [] }
        let due = audienceAnnouncedAt.addingReportingOverflow(Self.audienceInterval)
        guard due.overflow || audienceAnnouncedAt == .min || now >= due.partialValue else {
            return [.wake(at: due.partialValue)]
        }
        announcedAudience = audience
        audienceAnnouncedAt = now
        return [.tell(.viewers(audience))]
    }

    // MARK: Time

    /// Sends the notices that had to wait.
    public mutating func passed(_ now: Int64, wallClock: Int64) -> [Action] {
        lastID = max(lastID + 1, wallClock)
        return announceLikes(at: now, id: lastID, wallClock: wallClock) + announceAudience(at: now)
    }
}
