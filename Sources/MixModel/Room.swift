/// Everything known of a room. Changed only by `RoomMachine` (events) and by assigning `settings`.
public struct Room: Hashable, Codable, Sendable {
    public let id: RoomID
    public var settings: RoomSettings
    /// Names these settings: another number for every change of them, also over a deletion of the room. `nil` until the
    /// first.
    public var settingsVersion: Int64?
    /// False after `room.closed` until something happens in the room again.
    public internal(set) var isOpen: Bool
    /// Ordered by `joinOrder`.
    public internal(set) var participants: [Participant]
    /// The next participant's `joinOrder`.
    var nextJoinOrder: Int
    /// The next stream's `publishOrder`.
    var nextPublishOrder: Int
    /// What the newest event was, by subject (`user/stream`, `@user`, `*` for snapshots or empty for the room itself).
    /// Marks outlive what they are about, so that an old `published` that arrives after its `unpublished` is known to be stale.
    var marks: [String: EventMark]

    /// The next mark's `touched`.
    var nextTouch: Int

    /// Marks kept in a room; the longest untouched goes first.
    static let maximumMarks = 1024

    public init(id: RoomID, settings: RoomSettings = RoomSettings()) {
        self.id = id
        self.settings = settings
        isOpen = true
        participants = []
        nextJoinOrder = 0
        nextPublishOrder = 0
        marks = [:]
        nextTouch = 0
    }

    /// Nothing was ever told of the room, or asked for it.
    public var isBlank: Bool { self == Room(id: id) }

    /// The participant with this id, if they are in the room.
    public func participant(_ user: UserID) -> Participant? {
        participants.first { $0.user == user }
    }

    /// Whether somebody publishes.
    public var hasStreams: Bool { participants.contains { !$0.streams.isEmpty } }

    /// About how many bytes the room's document takes.
    public var weight: Int {
        var bytes = 250 + (settings.outputs ?? []).reduce(0) { $0 + 60 + $1.url.utf8.count }
        for participant in participants {
            bytes += 90 + participant.user.rawValue.utf8.count + (participant.name?.utf8.count ?? 0)
            for stream in participant.streams { bytes += 80 + stream.url.utf8.count }
        }
        for (subject, mark) in marks { bytes += 80 + subject.utf8.count + mark.source.utf8.count }
        return bytes
    }

    /// Every stream that is published now, in join order.
    public var streams: [RoomStream] {
        participants.flatMap { participant in
            participant.streams.map { stream in
                RoomStream(
                    id: SourceID(user: participant.user, stream: stream.kind), user: participant.user,
                    name: participant.name, role: participant.role, joinOrder: participant.joinOrder, stream: stream)
            }
        }
    }
}

/// A live stream together with whose it is.
public struct RoomStream: Hashable, Sendable {
    public var id: SourceID
    public var user: UserID
    /// For people; `nil` until an event says it.
    public var name: String?
    public var role: Role?
    public var joinOrder: Int
    public var stream: LiveStream

    public init(
        id: SourceID, user: UserID, name: String? = nil, role: Role?, joinOrder: Int, stream: LiveStream
    ) {
        self.id = id
        self.user = user
        self.name = name
        self.role = role
        self.joinOrder = joinOrder
        self.stream = stream
    }
}

/// Order of the newest event about one subject.
struct EventMark: Hashable, Codable, Sendable {
    var source: String
    var sequence: UInt64?
    var time: Double?
    /// When this mark was set, counted over the room's events.
    var touched: Int

    /// Whether an event is older than, or the same as, what is known. Sequences of one source decide; otherwise times;
    /// events that carry neither are taken as they come.
    func isNewerThan(_ event: RoomEvent) -> Bool {
        if source.hasSameUTF8(as: event.source), let sequence, let other = event.sequence { return other <= sequence }
        return isLaterThan(event)
    }

    /// For events about something else, whose sequences count something else: times alone decide.
    func isLaterThan(_ event: RoomEvent) -> Bool {
        if let time, let other = event.time { other < time } else { false }
    }
}
