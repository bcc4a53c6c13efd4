import MixModel

/// A notice for all viewers of a channel.
public enum ChannelNotice: Hashable, Codable, Sendable {
    case message(ChannelMessage)
    /// A moderator has deleted a message.
    case deleted(id: Int64)
    case viewers(ChannelAudience)
    case onAir(ChannelOnAir)
    /// The room has become live: a participant is on air, or the room was opened through the channel.
    case opened(title: String?)
    /// The room is no longer live. Its channel stays usable.
    case ended
    /// The room was closed through the channel. Comes after `ended`.
    case closed
    /// The rules have changed.
    case rules(ChannelRules.Shown)
}

/// The viewers of a room.
public struct ChannelAudience: Hashable, Codable, Sendable {
    /// Number of connections that follow the channel.
    public var channel: Int
    /// Number of viewers that play the program from this service, over HTTP-FLV or RTMP.
    public var playback: Int
    /// The number to show: the larger of both, because a page that plays the program also follows the channel.
    public var count: Int { max(channel, playback) }

    public init(channel: Int = 0, playback: Int = 0) {
        self.channel = channel
        self.playback = playback
    }
}

/// The program as viewers see it.
public struct ChannelOnAir: Hashable, Codable, Sendable {
    /// Mode of the program; `nil` while there is none.
    public var mode: OnAir?
    /// Participants who are seen or heard, in the program's order.
    public var people: [UserID]

    /// Maximum number of participants that are named.
    public static let mostPeople = 64

    public init(mode: OnAir? = nil, people: [UserID] = []) {
        self.mode = mode
        self.people = Array(people.prefix(Self.mostPeople))
    }
}
