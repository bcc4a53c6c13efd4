import MixModel
import RoomChannel
import RoomService

/// The viewers of a room, as shown to clients.
struct AudienceView: Encodable, Sendable {
    /// Number to display.
    var count: Int
    var channel: Int
    var playback: Int

    init(_ audience: ChannelAudience) {
        (count, channel, playback) = (audience.count, audience.channel, audience.playback)
    }
}

/// A channel's state, as shown to clients.
struct ChannelStateView: Encodable, Sendable {
    var isLive: Bool
    var title: String?
    var onAir: ChannelOnAir
    var viewers: AudienceView
    var likes: Int64
    var rules: ChannelRules.Shown

    init(_ state: ChannelState) {
        (isLive, title, onAir) = (state.isLive, state.title, state.onAir)
        (viewers, likes, rules) = (AudienceView(state.audience), state.likes, state.rules)
    }
}

/// The answer to `GET /v1/rooms/{room}/messages`.
struct ChannelHistoryView: Encodable, Sendable {
    /// Messages, oldest first.
    var messages: [ChannelMessage]
    var state: ChannelStateView
}

/// The rules of a channel and the muted users, for moderators.
struct ChannelRulesView: Encodable, Sendable {
    struct Muted: Encodable, Sendable {
        var user: UserID
        /// Remaining seconds; `nil` means without an end.
        var seconds: Int?
    }

    var slowMode: Int
    var words: [String]
    var muted: [Muted]

    init(_ moderation: ChannelModeration) {
        slowMode = moderation.slowMode
        words = moderation.words
        muted = moderation.muted.map { Muted(user: $0.user, seconds: $0.seconds) }
    }
}
