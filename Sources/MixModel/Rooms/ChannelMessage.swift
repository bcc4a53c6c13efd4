/// A message of a room's channel, as all viewers in the room see it.
public struct ChannelMessage: Codable, Hashable, Sendable {
    public enum Kind: String, Codable, Hashable, Sendable, CaseIterable {
        /// Text written by a sender.
        case comment
        /// Likes since the last message of this kind. They are counted and shown as one burst, not kept in the history.
        case like
        /// A gift, whose fields the app defines.
        case gift
    }

    /// Number that increases within a room, also across restarts: µs since 1970, or the previous number plus one.
    public var id: Int64
    public var kind: Kind
    /// Sender; `nil` if the sender is anonymous, and for likes of several senders.
    public var user: UserID?
    /// Display name.
    public var name: String?
    /// Text of a comment, or the text that accompanies a gift.
    public var text: String?
    /// Number of likes in the burst, or number of gifts, 1 or more.
    public var count: Int?
    /// Total likes of the room, including this message's; only for likes.
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

    /// Size with which the message counts where memory is limited, in bytes: its texts, plus overhead.
    public var weight: Int {
        128 + (user?.rawValue.utf8.count ?? 0) + (name?.utf8.count ?? 0) + (text?.utf8.count ?? 0)
            + (gift?.weight ?? 0)
    }
}
