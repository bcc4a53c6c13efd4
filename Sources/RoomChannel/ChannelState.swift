import MixModel

/// A channel at one moment.
public struct ChannelState: Hashable, Codable, Sendable {
    public var isLive: Bool
    public var title: String?
    public var onAir: ChannelOnAir
    public var audience: ChannelAudience
    /// Total likes.
    public var likes: Int64
    public var rules: ChannelRules.Shown

    public init(
        isLive: Bool, title: String? = nil, onAir: ChannelOnAir = ChannelOnAir(),
        audience: ChannelAudience = ChannelAudience(), likes: Int64 = 0, rules: ChannelRules.Shown
    ) {
        self.isLive = isLive
        self.title = title
        self.onAir = onAir
        self.audience = audience
        self.likes = likes
        self.rules = rules
    }
}

extension ChannelMachine {
    /// The channel as a new viewer sees it.
    public var state: ChannelState {
        ChannelState(
            isLive: isLive, title: title, onAir: onAir, audience: audience, likes: likes, rules: rules.shown)
    }
}
