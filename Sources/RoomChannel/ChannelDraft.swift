import MixModel

/// A message that a sender wants to send, before it is checked.
public struct ChannelDraft: Hashable, Codable, Sendable {
    public var kind: ChannelMessage.Kind
    public var text: String?
    /// Number of likes or gifts; `nil` means 1.
    public var count: Int?
    public var gift: ChannelGift?

    public init(kind: ChannelMessage.Kind, text: String? = nil, count: Int? = nil, gift: ChannelGift? = nil) {
        self.kind = kind
        self.text = text
        self.count = count
        self.gift = gift
    }
}

/// The sender of a message or a request in a channel.
public struct ChannelSender: Hashable, Codable, Sendable {
    /// Identity known to the service, or vouched for by a trusted caller; `nil` = anonymous.
    public var user: UserID?
    /// Display name.
    public var name: String?
    /// Address of the connection, by which anonymous senders are distinguished.
    public var address: String
    /// Whether the sender may delete messages, mute, change rules and close, and is exempt from slow mode and mutes.
    public var isModerator: Bool

    public init(user: UserID? = nil, name: String? = nil, address: String, isModerator: Bool = false) {
        self.user = user
        self.name = name
        self.address = address
        self.isModerator = isModerator
    }
}
