import EventSubscription
import MixModel
import RoomChannel

/// Reads the bodies of a channel's requests.
enum ChannelReader {
    /// Longest body of a message, in bytes.
    static let longestMessage = 16 << 10

    /// A message with its claims about the sender.
    struct Message: Hashable {
        var draft: ChannelDraft
        var user: UserID?
        var name: String?
    }

    static func message(_ bytes: [UInt8]) throws -> Message {
        var reader = try FieldReader(try JSONValue(parsing: bytes))
        let kind = try reader.choice("kind", of: ChannelMessage.Kind.self) ?? .comment
        let user = try reader.string("user").map { user throws(InputError) in
            UserID(try EventParser.identifier(user, field: "user"))
        }
        let message = Message(
            draft: ChannelDraft(
                kind: kind, text: try reader.string("text"),
                count: try reader.integer("count", in: 1...ChannelRules.mostGifts), gift: try gift(&reader)),
            user: user, name: try reader.string("name"))
        try reader.finish()
        return message
    }

    private static func gift(_ reader: inout FieldReader) throws -> ChannelGift? {
        guard let value = reader.value("gift") else { return nil }
        let expected = "a flat object of at most \(ChannelGift.mostFields) fields with \(ChannelGift.mostBytes) bytes"
        guard case .object(let members) = value else { throw reader.invalid("gift", value, expected) }
        let fields = try members.mapValues { member in
            switch member {
            case .string(let text): return ChannelGift.Value.text(text)
            case .number(let number): return .number(number)
            case .boolean(let flag): return .flag(flag)
            case .null, .array, .object: throw reader.invalid("gift", value, expected)
            }
        }
        guard let gift = ChannelGift(fields) else { throw reader.invalid("gift", value, expected) }
        return gift
    }

    static func rules(_ bytes: [UInt8]) throws(InputError) -> (slowMode: Int?, words: [String]?) {
        var reader = try FieldReader(try JSONValue(parsing: bytes))
        let slowMode = try reader.integer("slowMode", in: 0...ChannelRules.longestSlowMode)
        let words = try reader.array("words")?.map { value, path throws(InputError) in
            guard case .string(let word) = value else {
                throw InputError(.invalidField, field: path, found: value.summary, expected: "a string")
            }
            return word
        }
        try reader.finish()
        return (slowMode, words)
    }

    /// Returns the number of seconds for which a user is to be muted; `nil` means without an end. The body may be
    /// empty.
    static func mute(_ bytes: [UInt8]) throws(InputError) -> Int? {
        guard !bytes.isEmpty else { return nil }
        var reader = try FieldReader(try JSONValue(parsing: bytes))
        let seconds = try reader.integer("seconds", in: 1...366 * 86_400)
        try reader.finish()
        return seconds
    }
}
