import MixModel
import RoomChannel

/// A caller's request to a room's channel. The node that has the room performs it.
package enum ChannelCall: Hashable, Codable, Sendable {
    case send(ChannelDraft, ChannelSender)
    case delete(Int64)
    /// - Parameter seconds: `nil` = indefinitely.
    case mute(UserID, seconds: Int?)
    case unmute(UserID)
    /// Changes the rules and returns them; `nil` leaves a rule unchanged.
    case rules(slowMode: Int?, words: [String]?)
    case history(after: Int64?)
    case open(title: String?, ChannelSender)
    case close(ChannelSender)
}

/// The result of a `ChannelCall`.
package struct ChannelReply: Hashable, Codable, Sendable {
    /// The message that was sent.
    package var message: ChannelMessage?
    /// Messages, oldest first.
    package var messages: [ChannelMessage]?
    package var state: ChannelState?
    package var moderation: ChannelModeration?
    /// Whether the user was muted.
    package var wasMuted: Bool?
}

/// The state of a channel as moderators see it.
package struct ChannelModeration: Hashable, Codable, Sendable {
    package struct Muted: Hashable, Codable, Sendable {
        package var user: UserID
        /// Seconds that remain; `nil` = indefinitely.
        package var seconds: Int?
    }

    package var slowMode: Int
    package var words: [String]
    package var muted: [Muted]

    init(_ machine: ChannelMachine, at now: Int64) {
        slowMode = machine.rules.slowMode
        words = machine.rules.words.words
        muted = machine.muted(at: now).map { Muted(user: $0.user, seconds: $0.secondsLeft) }
    }
}
