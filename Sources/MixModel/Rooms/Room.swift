/// The state of a room. Changed only by `RoomMachine` (events) and by assigning `settings`.
public struct Room: Hashable, Codable, Sendable {
    public let id: RoomID
    public var settings: RoomSettings
    /// Version of the settings: a different number for every change, even across a deletion of the room. `nil` until
    /// the first change.
    public var settingsVersion: Int64?
    /// Whether the room is open. False from `room.closed` until the next event in the room.
    public internal(set) var isOpen: Bool
    /// Participants, ordered by `joinOrder`.
    public internal(set) var participants: [Participant]
    /// Operators' controls of single users, ordered by user; `nil` means none. At most `mostControls`.
    @Boxed public internal(set) var controls: [ParticipantControl]?
    /// The next participant's `joinOrder`.
    var nextJoinOrder: Int
    /// The next stream's `publishOrder`.
    var nextPublishOrder: Int
    /// Newest event by subject: `user/stream`, `@user`, `-user` and `-` for departures, `*` and `@/` for snapshots, or
    /// empty for the room itself. Marks outlive their subjects, so that an old `published` that arrives after its
    /// `unpublished` is recognised as stale.
    var marks: [String: EventMark]

    /// The next mark's `touched`.
    var nextTouch: Int

    /// Maximum number of marks in a room. The one untouched longest is removed first.
    static let maximumMarks = 1024

    public init(id: RoomID, settings: RoomSettings = RoomSettings()) {
        self.id = id
        self.settings = settings
        isOpen = true
        participants = []
        controls = nil
        nextJoinOrder = 0
        nextPublishOrder = 0
        marks = [:]
        nextTouch = 0
    }

    /// Whether no event and no setting has ever been applied to the room.
    public var isBlank: Bool { self == Room(id: id) }

    /// Returns the participant with this identifier, if they are in the room.
    public func participant(_ user: UserID) -> Participant? {
        participants.first { $0.user == user }
    }

    /// Whether any participant is publishing a stream.
    public var hasStreams: Bool { participants.contains { !$0.streams.isEmpty } }

    /// Returns the `source` of the newest event about a stream; `nil` if it is no longer known.
    package func reporter(of stream: SourceID) -> String? { marks[stream.rawValue]?.source }

    /// Returns what tells the newest event about a stream from all others; `nil` if it is not known any more.
    package func newestEvent(of stream: SourceID) -> String? {
        marks[stream.rawValue].map { "\($0.sequence ?? 0) \($0.source)" }
    }

    /// Approximate size of the room's document, in bytes.
    public var weight: Int {
        var bytes = 250 + (settings.outputs ?? []).reduce(0) { $0 + 60 + $1.url.utf8.count }
        for (name, value) in settings.params ?? [:] { bytes += 10 + name.utf8.count + value.description.utf8.count }
        for participant in participants {
            bytes += 90 + participant.user.rawValue.utf8.count + (participant.name?.utf8.count ?? 0)
            for stream in participant.streams { bytes += 80 + stream.url.utf8.count }
        }
        for control in controls ?? [] { bytes += 70 + control.user.rawValue.utf8.count }
        for (subject, mark) in marks { bytes += 80 + subject.utf8.count + mark.source.utf8.count }
        return bytes
    }

    /// All streams that are currently published, in join order.
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

/// A live stream together with its publisher.
public struct RoomStream: Hashable, Sendable {
    public var id: SourceID
    public var user: UserID
    /// Display name; `nil` until an event sets it.
    public var name: String?
    public var role: Role?
    public var joinOrder: Int
    public var stream: LiveStream
    /// Loudness in programs in percent, 0…400, as set by an operator; 0 means silence.
    public var level = ParticipantControl.usualGain

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

    /// Whether the stream has audio that can be heard.
    public var isHeard: Bool { stream.audio && level > 0 }

    /// Whether only a mix can give the stream its loudness.
    var needsMix: Bool { stream.audio && level > 0 && level != ParticipantControl.usualGain }
}

/// The position of the newest event about one subject, by which later events are ordered.
struct EventMark: Hashable, Codable, Sendable {
    var source: String
    var sequence: UInt64?
    var time: Double?
    /// Position of this mark's last change, counted over all marks of the room.
    var touched: Int

    /// Returns whether the given event is older than, or the same as, the marked one. Sequences decide within one source, times
    /// otherwise. Events that carry neither are accepted in the order of arrival.
    func isNewerThan(_ event: RoomEvent) -> Bool {
        if source.hasSameUTF8(as: event.source), let sequence, let other = event.sequence { return other <= sequence }
        return isLaterThan(event)
    }

    /// Returns whether the mark is later than an event about another subject. Only times decide, because that event's sequence
    /// counts something else.
    func isLaterThan(_ event: RoomEvent) -> Bool {
        if let time, let other = event.time { other < time } else { false }
    }
}
