import LayoutEngine
import TextFormats

/// An event in a room, as reported by an app server or a media server.
///
/// `source` and `id` together identify the event: the same pair twice is a duplicate and changes nothing.
public struct RoomEvent: Hashable, Codable, Sendable {
    public var room: RoomID
    /// Tenant; `default` if only one is configured.
    public var app: String
    /// CloudEvents `source` of the reporter (a URI reference).
    public var source: String
    /// Identifier, unique within `source`.
    public var id: String
    /// Order among the events of one stream from one source; greater is newer.
    public var sequence: UInt64?
    /// Time of the event, in seconds since 1970. Orders events that have no sequence.
    public var time: Double?
    public var kind: Kind

    /// The kind of an event, with its data. `type` is its public name.
    public enum Kind: Hashable, Codable, Sendable {
        case streamPublished(Publication)
        case streamUpdated(StreamUpdate)
        case streamUnpublished(user: UserID, stream: StreamKind, reason: String?)
        case participantJoined(user: UserID, role: Role?, name: String?)
        case participantLeft(user: UserID)
        case roomOpened
        case roomClosed
        case roomSnapshot(RoomSnapshot)
    }

    public init(
        room: RoomID, app: String = "default", source: String, id: String, sequence: UInt64? = nil,
        time: Double? = nil, kind: Kind
    ) {
        self.room = room
        self.app = app
        self.source = source
        self.id = id
        self.sequence = sequence
        self.time = time
        self.kind = kind
    }

    /// Public name of the event's type, such as `stream.published`.
    public var type: String {
        switch kind {
        case .streamPublished: "stream.published"
        case .streamUpdated: "stream.updated"
        case .streamUnpublished: "stream.unpublished"
        case .participantJoined: "participant.joined"
        case .participantLeft: "participant.left"
        case .roomOpened: "room.opened"
        case .roomClosed: "room.closed"
        case .roomSnapshot: "room.snapshot"
        }
    }

    /// Human-readable summary for timelines, such as `stream.published bob/camera`. Contains no URL and no secret.
    public var summary: String {
        switch kind {
        case .streamPublished(let publication): "\(type) \(publication.user)/\(publication.stream.rawValue)"
        case .streamUpdated(let update): "\(type) \(update.user)/\(update.stream.rawValue)"
        case .streamUnpublished(let user, let stream, _): "\(type) \(user)/\(stream.rawValue)"
        case .participantJoined(let user, _, _), .participantLeft(let user): "\(type) \(user)"
        case .roomOpened, .roomClosed: type
        case .roomSnapshot(let snapshot): "\(type) of \(snapshot.streams.count) streams"
        }
    }

    /// `summary` with the reason that the event gives, if any, such as
    /// `stream.unpublished board/camera: the page has ended it`. One line, with URLs redacted.
    public var account: String {
        guard case .streamUnpublished(_, _, let reason?) = kind, !reason.isEmpty else { return summary }
        let words = OneLine.of(URLRedaction.redact(reason)).shortened(toBytes: Self.longestReason)
        return "\(summary): \(words)"
    }

    /// Largest length of a reason in `account`, in bytes of UTF-8.
    private static let longestReason = 400
}

/// A stream that can now be pulled.
public struct Publication: Hashable, Codable, Sendable {
    public var user: UserID
    public var stream: StreamKind
    /// Pull URL. May contain a secret: never logged, and answered only redacted.
    public var url: String
    public var audio: Bool
    public var video: Bool
    public var role: Role?
    /// Pull URL of the same stream elsewhere, for when the first one fails; `nil` = none.
    public var backup: String?
    /// The web page shown by the stream, until the service has given the stream a URL. Not part of the document, in
    /// which only the stream is stored.
    public var page: PageSource?

    private enum CodingKeys: String, CodingKey { case user, stream, url, audio, video, role, backup }

    public init(
        user: UserID, stream: StreamKind = .camera, url: String, audio: Bool = true, video: Bool = true,
        role: Role? = nil, backup: String? = nil
    ) {
        self.backup = backup
        self.user = user
        self.stream = stream
        self.url = url
        self.audio = audio
        self.video = video
        self.role = role
    }
}

/// A change to a live stream: mute, camera off or promotion. `nil` means unchanged.
public struct StreamUpdate: Hashable, Codable, Sendable {
    public var user: UserID
    public var stream: StreamKind
    public var audio: Bool?
    public var video: Bool?
    public var role: Role?

    public init(
        user: UserID, stream: StreamKind = .camera, audio: Bool? = nil, video: Bool? = nil, role: Role? = nil
    ) {
        self.user = user
        self.stream = stream
        self.audio = audio
        self.video = video
        self.role = role
    }
}
