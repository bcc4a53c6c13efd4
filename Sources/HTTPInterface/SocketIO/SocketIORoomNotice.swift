import EventSubscription
import MixModel
import RoomChannel
import SocketIO

/// Notices to all clients in a room, as Socket.IO events. Names and fields of `comment`, `upvote` and `gift` are those
/// of the apps that use this interface; further fields are added.
enum SocketIORoomNotice {
    static func packet(_ notice: ChannelNotice, room: String) -> SocketIOPacket {
        let (name, fields) = content(notice)
        return packet(name, room, fields)
    }

    static func packet(_ name: String, _ room: String, _ fields: [String: JSONValue] = [:]) -> SocketIOPacket {
        SocketIOPacket(event: name, [.object(fields.merging(["roomKey": .string(room)]) { $1 })])
    }

    private static func content(_ notice: ChannelNotice) -> (String, [String: JSONValue]) {
        switch notice {
        case .message(let message):
            switch message.kind {
            case .comment: ("comment", fields(message))
            case .like: ("upvote", fields(message))
            case .gift: ("gift", fields(message))
            }
        case .deleted(let id): ("deleted", ["id": .number(Double(id))])
        case .viewers(let audience):
            (
                "viewers",
                [
                    "count": .number(Double(audience.count)), "channel": .number(Double(audience.channel)),
                    "playback": .number(Double(audience.playback)),
                ]
            )
        case .onAir(let program):
            (
                "onAir",
                [
                    "mode": program.mode.map { .string($0.rawValue) } ?? .null,
                    "people": .array(program.people.map { .string($0.rawValue) }),
                ]
            )
        case .opened(let title): ("opened", title.map { ["title": .string($0)] } ?? [:])
        case .ended: ("ended", [:])
        case .closed: ("room_closed", [:])
        case .rules(let rules):
            ("rules", ["slowMode": .number(Double(rules.slowMode)), "words": .number(Double(rules.words))])
        }
    }

    /// Returns the fields of a message. An app's own fields of a gift come first, so that they cannot change the
    /// others.
    static func fields(_ message: ChannelMessage) -> [String: JSONValue] {
        var fields: [String: JSONValue] = [:]
        for (name, value) in message.gift?.fields ?? [:] {
            fields[name] =
                switch value {
                case .text(let text): .string(text)
                case .number(let number): .number(number)
                case .flag(let flag): .boolean(flag)
                }
        }
        fields["id"] = .number(Double(message.id))
        fields["sentAt"] = .number(Double(message.sentAt))
        // A gift names no sender of its own, not even if its sender is anonymous.
        fields["user"] = message.user.map { .string($0.rawValue) }
        fields["name"] = message.name.map { .string($0) }
        if let text = message.text { fields["text"] = .string(text) }
        if let count = message.count { fields["count"] = .number(Double(count)) }
        if let total = message.total { fields["total"] = .number(Double(total)) }
        return fields
    }
}
