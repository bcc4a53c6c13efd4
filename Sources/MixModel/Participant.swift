import LayoutEngine

/// What somebody is in a room: the same word in events, rooms and layouts.
public typealias Role = LayoutParticipant.Role

/// Somebody in a room: joined by an event of their own, or by publishing a stream.
public struct Participant: Hashable, Codable, Sendable {
    public var user: UserID
    public var name: String?
    /// `nil` until an event says it.
    public var role: Role?
    /// 0 for the first of the room; never used twice.
    public var joinOrder: Int
    /// True after `participant.joined`: stays in the room without a stream. False for somebody who is only known by
    /// their streams: gone with the last of them.
    public var joinedExplicitly: Bool
    /// What this person publishes now, at most one of each kind, ordered by kind.
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
    /// Where to pull it. May hold a secret.
    public var url: String
    /// False while muted.
    public var audio: Bool
    /// False while the camera is off, and for streams of kind `audio`.
    public var video: Bool
    /// Counts the publications of the room: who came first.
    public var publishOrder: Int

    public init(kind: StreamKind, url: String, audio: Bool, video: Bool, publishOrder: Int) {
        self.kind = kind
        self.url = url
        self.audio = audio
        self.video = video
        self.publishOrder = publishOrder
    }
}
