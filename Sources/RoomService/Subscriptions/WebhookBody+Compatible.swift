import Crypto
import Foundation
import MixModel
import TextFormats

/// The room callback of the ApsaraVideo Live format (`CreateEventSub`). Times are in seconds.
struct RoomCallback: Encodable {
    struct Content: Encodable {
        var Event: String
        var UserEvent: UserContent?
        var ChannelEvent: ChannelContent?
    }
    struct UserContent: Encodable {
        var UserId: UserID
        var EventTag: String
        /// The session, unchanged from joining to leaving.
        var SessionId: String
        var Timestamp: Int
        /// Reason for joining or leaving: 1 = by the participant.
        var Reason = 1
        /// 1 = streamer, 2 = viewer.
        var Role: Int
        /// Type of the participant's device; 0 = unknown.
        var TerminalType = 0
    }
    struct ChannelContent: Encodable {
        var ChannelId: String
        var EventTag: String
        var Timestamp: Int
    }

    var MsgId: String
    var MsgTimestamp: Int
    var SubscribeID: SubscriptionID
    var AppId: AppID
    var ChannelID: String
    var Contents: [Content]

    /// Creates a callback; `nil` when the format has none for the occurrence.
    init?(_ occurrence: Occurrence, id: String, subscription: Subscription) {
        let time = Int(occurrence.at)
        let content: Content
        switch occurrence.kind {
        case .roomOpened: content = Self.channel("Open", occurrence, time)
        case .roomClosed: content = Self.channel("Close", occurrence, time)
        case .test: content = Self.channel("Test", occurrence, time)
        case .participantJoined(let person): content = Self.user("Join", person, occurrence, time)
        case .participantLeft(let person): content = Self.user("Leave", person, occurrence, time)
        case .participantRoleChanged(let person, _): content = Self.user("Roleupdate", person, occurrence, time)
        case .streamPublished(let person, _): content = Self.user("Publish", person, occurrence, time)
        case .streamUnpublished(let person, _): content = Self.user("Unpublish", person, occurrence, time)
        default: return nil
        }
        MsgId = id
        MsgTimestamp = Int(wallClock())
        SubscribeID = subscription.id
        AppId = occurrence.room.app
        ChannelID = occurrence.room.name
        Contents = [content]
    }

    private static func channel(_ tag: String, _ occurrence: Occurrence, _ time: Int) -> Content {
        Content(
            Event: "ChannelEvent",
            ChannelEvent: ChannelContent(ChannelId: occurrence.room.name, EventTag: tag, Timestamp: time))
    }

    private static func user(
        _ tag: String, _ person: Occurrence.Person, _ occurrence: Occurrence, _ time: Int
    ) -> Content {
        let session = SHA256.hash(
            data: Data("\(occurrence.room)\u{0}\(person.user)\u{0}\(person.joinOrder)".utf8))
        // A participant who publishes is a streamer, regardless of the name of their role.
        let isStreamer = person.publishes || person.role != nil || tag == "Publish" || tag == "Unpublish"
        return Content(
            Event: "UserEvent",
            UserEvent: UserContent(
                UserId: person.user, EventTag: tag, SessionId: Hexadecimal.text(session.prefix(12)), Timestamp: time,
                Role: isStreamer ? 1 : 2))
    }
}

/// The task callback of the ApsaraVideo Live format (`CreateRtcMPUEventSub`), one for each destination. Times are in
/// milliseconds.
struct TaskCallback: Encodable {
    struct Content: Encodable {
        /// URL as given by the caller.
        var DstUrl: String
        var EventTs: Int64
        var EventCode: Int
        var ErrorCode: Int
        var ErrorMessage: String
    }

    let EventType = 1
    var MsgId: String
    var AppId: AppID
    var SubId: SubscriptionID
    var TaskId: String
    var CallbackTs: Int64
    var Payload: Content

    /// Codes of the states. States that are not listed are not reported. The only published sample pairs event 1 with
    /// error 0; the other codes are ours.
    static let codes: [OutputChange.State: (event: Int, error: Int, message: String)] = [
        .live: (1, 0, ""),
        .recovering: (2, 1, "the connection was lost and is being re-established"),
        .failed: (2, 2, "the destination does not accept the stream"),
        .removed: (3, 0, ""),
    ]

    /// Creates a callback; `nil` when the format has none for the occurrence.
    init?(_ occurrence: Occurrence, id: String, subscription: Subscription) {
        let (task, url, state, error): (String, String, OutputChange.State, String?)
        switch occurrence.kind {
        case .outputStateChanged(let id, let change, let destination):
            (task, url, state, error) = (id.name, destination, change.state, change.error)
        case .test: (task, url, state, error) = ("test", "", .live, nil)
        default: return nil
        }
        guard let code = Self.codes[state] else { return nil }
        MsgId = id
        AppId = occurrence.room.app
        SubId = subscription.id
        TaskId = task
        CallbackTs = Int64(wallClock() * 1000)
        Payload = Content(
            DstUrl: url, EventTs: Int64(occurrence.at * 1000), EventCode: code.event, ErrorCode: code.error,
            ErrorMessage: error.map { URLRedaction.redact($0) } ?? code.message)
    }
}
