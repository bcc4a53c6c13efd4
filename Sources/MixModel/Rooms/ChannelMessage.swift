/// A message of a room's channel, as everybody in the room sees it.
public struct ChannelMessage: Codable, Hashable, Sendable {
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// Text that somebody has written.
        case comment
        /// Likes since the last message of this kind. They are counted and shown as one burst, not kept in the history.
        case like
        /// A gift, whose fields the app defines.
        case gift
    }

    /// Number that grows within a room, also across restarts: µs since 1970, or one more than the one before.
    public var id: Int64
    public var kind: Kind
    /// Sender; `nil` if the sender is anonymous, and for likes of several senders.
    public var user: UserID?
    /// Name to show.
    public var name: String?
    /// Text of a comment, or what somebody says with a gift.
    public var text: String?
    /// Likes of the burst, or number of gifts, 1 or more.
    public var count: Int?
    /// Likes of the room so far, this message's included; only of likes.
    public var total: Int64?
    public var gift: ChannelGift?
    /// Time of sending, in ms since 1970.
    public var sentAt: Int64

    public init(
        id: Int64, kind: Kind, user: UserID? = nil, name: String? = nil, text: String? = nil, count: Int? = nil,
        total: Int64? = nil, gift: ChannelGift? = nil, sentAt: Int64
    ) {
        self.id = id
        self.kind = kind
        self.user = user
        self.name = name
        self.text = text
        self.count = count
        self.total = total
        self.gift = gift
        self.sentAt = sentAt
    }

    /// Bytes that the message is counted with where memory is limited: those of its texts, and what surrounds them.
    public var weight: Int {
        128 + (user?.rawValue.utf8.count ?? 0) + (name?.utf8.count ?? 0) + (text?.utf8.count ?? 0)
            + (gift?.weight ?? 0)
    }
}
