import LayoutEngine

/// The role of a participant. Events, rooms and layouts use the same words.
public typealias Role = LayoutParticipant.Role

/// A participant of a room, who joined by an event of their own or by publishing a stream.
public struct Participant: Hashable, Codable, Sendable {
    public var user: UserID
    public var name: String?
    /// Role; `nil` until an event sets it.
    public var role: Role?
    /// Position in the order of joining, 0 for the room's first participant. Never reused.
    public var joinOrder: Int
    /// Whether the participant joined by `participant.joined` and stays in the room without a stream. A participant who
    /// is known only by streams leaves with the last of them.
    public var joinedExplicitly: Bool
    /// Streams published now, at most one of each kind, ordered by kind.
    public var streams: [LiveStream]

    public init(
        user: UserID, name: String? = nil, role: Role? = nil, joinOrder: Int, joinedExplicitly: Bool,
        streams: [LiveStream] = []
    ) {
        self.user = user
        self.name = name
        self.role = role
        self.joinOrder = joinOrder
        self.joinedExplicitly = joinedExplicitly
        self.streams = streams
    }
}

/// A stream that is being published.
public struct LiveStream: Hashable, Codable, Sendable {
    public var kind: StreamKind
    /// Pull URL. May contain a secret.
    public var url: String
    /// Whether audio is on; false while muted.
    public var audio: Bool
    /// Whether video is on; false while the camera is off, and for streams of kind `audio`.
    public var video: Bool
    /// Position in the room's order of publishing.
    public var publishOrder: Int
    /// Pull URL of the same stream elsewhere; `nil` = none. May contain a secret.
    public var backup: String?

    public init(
        kind: StreamKind, url: String, audio: Bool, video: Bool, publishOrder: Int, backup: String? = nil
    ) {
        self.backup = backup
        self.kind = kind
        self.url = url
        self.audio = audio
        self.video = video
        self.publishOrder = publishOrder
    }
}
