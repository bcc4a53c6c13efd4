import LayoutEngine

/// Something that happened in a room, as an app server or a media server tells it.
///
/// `source` and `id` together name the event: the same pair twice is a duplicate and changes nothing.
public struct RoomEvent: Hashable, Codable, Sendable {
    public var room: RoomID
    /// The tenant; `default` where only one is configured.
    public var app: String
    /// Who tells it: the CloudEvents `source` (a URI reference).
    public var source: String
    /// Unique within `source`.
    public var id: String
    /// Orders the events of one stream that come from one source; greater is newer.
    public var sequence: UInt64?
    /// When it happened, in seconds since 1970; orders events that have no sequence.
    public var time: Double?
    public var kind: Kind

    /// What happened. `type` is its public name.
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

    /// The public name of the event's type, as in `stream.published`.
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

    /// For people and timelines: `stream.published bob/camera`. Holds no URL and no secret.
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
}

/// A stream that can be pulled from now on.
public struct Publication: Hashable, Codable, Sendable {
    public var user: UserID
    public var stream: StreamKind
    /// Where to pull it. May hold a secret: never logged, never answered unredacted.
    public var url: String
    public var audio: Bool
    public var video: Bool
    public var role: Role?

    public init(
        user: UserID, stream: StreamKind = .camera, url: String, audio: Bool = true, video: Bool = true,
        role: Role? = nil
    ) {
        self.user = user
        self.stream = stream
        self.url = url
        self.audio = audio
        self.video = video
        self.role = role
    }
}

/// What changed on a stream that goes on: mute, camera off, promotion. `nil` = as it was.
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
