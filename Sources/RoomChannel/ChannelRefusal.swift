import MixModel

/// The reason why a message is refused. Its description is a sentence for the sender.
public enum ChannelRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// - Parameter secondsLeft: `nil` = until a moderator ends the mute.
    case muted(secondsLeft: Int?)
    case slowMode(secondsLeft: Int)
    /// The sender sends too fast.
    case tooFast(secondsLeft: Int)
    /// The room as a whole is too busy.
    case roomTooFast(secondsLeft: Int)
    case empty
    case tooLong(characters: Int, bytes: Int)
    case nameTooLong(characters: Int, bytes: Int)
    /// Text or name contains characters that control a terminal.
    case controlCharacters
    case forbiddenWord
    /// - Parameter most: Maximum count.
    case badCount(most: Int)
    /// The fields do not fit the kind, such as a comment without text or a like with text.
    case wrongFields(ChannelMessage.Kind)
    case noGift
    case unknownMessage(Int64)
    case tooManyMuted(Int)
    case badRules(String)

    /// Stable identifier, for problems and metrics.
    public var code: String {
        switch self {
        case .muted: "muted"
        case .slowMode: "slow-mode"
        case .tooFast: "too-fast"
        case .roomTooFast: "room-too-fast"
        case .empty: "empty"
        case .tooLong: "too-long"
        case .nameTooLong: "name-too-long"
        case .controlCharacters: "control-characters"
        case .forbiddenWord: "forbidden-word"
        case .badCount: "bad-count"
        case .wrongFields: "wrong-fields"
        case .noGift: "no-gift"
        case .unknownMessage: "unknown-message"
        case .tooManyMuted: "too-many-muted"
        case .badRules: "bad-rules"
        }
    }

    /// Whole seconds after which the same message may be accepted; `nil` = unknown, or never.
    public var retryAfter: Int? {
        switch self {
        case .muted(let seconds): seconds
        case .slowMode(let seconds), .tooFast(let seconds), .roomTooFast(let seconds): seconds
        default: nil
        }
    }

    public var description: String {
        switch self {
        case .muted(let seconds?): "You are muted for another \(seconds) s."
        case .muted(nil): "You are muted in this room."
        case .slowMode(let seconds): "The room is in slow mode: you can write again in \(seconds) s."
        case .tooFast(let seconds): "You are sending too fast: try again in \(seconds) s."
        case .roomTooFast(let seconds): "Too much is being sent in this room: try again in \(seconds) s."
        case .empty: "The message has no text."
        case .tooLong(let characters, let bytes):
            "The message is too long: at most \(characters) characters and \(bytes) bytes of UTF-8 are allowed."
        case .nameTooLong(let characters, let bytes):
            "The name is too long: at most \(characters) characters and \(bytes) bytes of UTF-8 are allowed."
        case .controlCharacters: "The message has control characters other than line breaks."
        case .forbiddenWord: "The message has a word that is not allowed in this room."
        case .badCount(let most): "The count is not a whole number from 1 to \(most)."
        case .wrongFields(.comment): "A comment has text, and neither a count nor a gift."
        case .wrongFields(.like): "A like has a count at most, and neither text nor a gift."
        case .wrongFields(.gift): "A gift has an object of fields."
        case .noGift:
            "The gift is not a flat object of at most \(ChannelGift.mostFields) fields with \(ChannelGift.mostBytes) bytes."
        case .unknownMessage(let id): "The room's history has no message \(id)."
        case .tooManyMuted(let most): "At most \(most) users can be muted in a room: end another mute first."
        case .badRules(let reason): reason
        }
    }
}
