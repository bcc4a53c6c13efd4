import MixModel

/// What everybody in a channel is told.
public enum ChannelNotice: Hashable, Codable, Sendable {
    case message(ChannelMessage)
    /// A moderator has deleted a message.
    case deleted(id: Int64)
    case viewers(ChannelAudience)
    case onAir(ChannelOnAir)
    /// The room has become live: a participant is on air, or the room was opened through the channel.
    case opened(title: String?)
    /// The room is not live any more. Its channel stays usable.
    case ended
    /// Somebody has closed the room through the channel. Comes after `ended`.
    case closed
    /// The rules have changed.
    case rules(ChannelRules.Shown)
}

/// The viewers of a room.
public struct ChannelAudience: Hashable, Codable, Sendable {
    /// Connections that follow the channel.
    public var channel: Int
    /// Viewers that play the program from this service, over HTTP-FLV or RTMP.
    public var playback: Int
    /// Number to show: the larger of both, because a page that plays the program follows the channel, too.
    public var count: Int { max(channel, playback) }

    public init(channel: Int = 0, playback: Int = 0) {
        self.channel = channel
        self.playback = playback
    }
}

/// What viewers of the program see.
public struct ChannelOnAir: Hashable, Codable, Sendable {
    /// Mode of the program; `nil` while there is none.
    public var mode: OnAir?
    /// Participants who are seen or heard, as the program orders them.
    public var people: [UserID]

    /// Most participants that are named.
    public static let mostPeople = 64

    public init(mode: OnAir? = nil, people: [UserID] = []) {
        self.mode = mode
        self.people = Array(people.prefix(Self.mostPeople))
    }
}
