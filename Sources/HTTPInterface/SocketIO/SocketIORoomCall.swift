import EventSubscription
import MixModel
import RoomChannel
import RoomService
import SocketIO

/// A parsed event of an app's client: the requested action and its room.
enum SocketIORoomCall: Hashable, Sendable {
    case open(room: String, title: String?)
    case close(room: String)
    case join(room: String)
    case leave(room: String)
    case send(room: String, ChannelDraft)

    /// - Returns: `nil` for an unknown event.
    /// - Throws: `OrchestratorError` if the event lacks required values.
    init?(_ event: SocketIOEvent) throws(OrchestratorError) {
        let argument = event.arguments.first ?? .null
        do {
            switch event.name {
            case "create_room":
                let title: String? = if case .string(let text)? = Self.member("title", argument) { text } else { nil }
                self = .open(
                    room: try EventParser.identifier(try Self.room(argument, in: "key"), field: "key"), title: title)
            case "close_room": self = .close(room: try Self.room(argument, in: "key"))
            case "join_room": self = .join(room: try Self.room(argument, in: "key"))
            case "leave_room": self = .leave(room: try Self.room(argument, in: "key"))
            case "upvote":
                self = .send(room: try Self.room(argument, in: "roomKey"), ChannelDraft(kind: .like))
            case "comment":
                let text: String? = if case .string(let text)? = Self.member("text", argument) { text } else { nil }
                self = .send(
                    room: try Self.room(argument, in: "roomKey"), ChannelDraft(kind: .comment, text: text))
            case "gift":
                self = .send(
                    room: try Self.room(argument, in: "roomKey"),
                    ChannelDraft(kind: .gift, count: Self.count(argument), gift: Self.gift(argument)))
            default: return nil
            }
        } catch {
            throw OrchestratorError(error)
        }
    }

    private static func member(_ name: String, _ value: JSONValue) -> JSONValue? {
        if case .object(let members) = value { members[name] } else { nil }
    }

    /// Returns the name of a room, which is the argument or one of its members.
    private static func room(_ argument: JSONValue, in name: String) throws(InputError) -> String {
        switch argument {
        case .string(let key): return try EventParser.knownIdentifier(key, field: name)
        case .object(let members):
            if case .string(let key)? = members[name] { return try EventParser.knownIdentifier(key, field: name) }
        default: break
        }
        throw InputError(
            .invalidField, field: name, found: argument.summary,
            expected: "the key of a room, or an object with it as \(name)")
    }

    private static func count(_ argument: JSONValue) -> Int? {
        guard case .number(let number)? = member("giftCount", argument) else { return nil }
        return Int(exactly: number) ?? 0
    }

    /// Returns the fields of a gift without those that every message has.
    private static func gift(_ argument: JSONValue) -> ChannelGift? {
        guard case .object(let members) = argument else { return nil }
        var fields: [String: ChannelGift.Value] = [:]
        for (name, value) in members where name != "roomKey" {
            switch value {
            case .string(let text): fields[name] = .text(text)
            case .number(let number): fields[name] = .number(number)
            case .boolean(let flag): fields[name] = .flag(flag)
            case .null: break
            case .array, .object: return nil
            }
        }
        return ChannelGift(fields)
    }
}
