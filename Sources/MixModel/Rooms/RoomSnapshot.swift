import LayoutEngine

/// All streams that are published in a room at one moment. A snapshot corrects state that is wrong because of lost
/// events.
public struct RoomSnapshot: Hashable, Codable, Sendable {
    /// Streams, at most one of each user and kind. Streams that are not listed have ended.
    public var streams: [Stream]
    /// Participants who have joined; `nil` leaves the joined participants unchanged.
    public var participants: [Person]?

    /// Maximum number of streams in a snapshot.
    public static let mostStreams = 256
    /// Maximum number of participants in a snapshot.
    public static let mostParticipants = 1000

    public init(streams: [Stream], participants: [Person]? = nil) {
        self.streams = streams
        self.participants = participants
    }

    /// A stream and the display name of its publisher.
    public struct Stream: Hashable, Codable, Sendable {
        public var publication: Publication
        public var name: String?

        public var id: SourceID { SourceID(user: publication.user, stream: publication.stream) }

        public init(_ publication: Publication, name: String? = nil) {
            self.publication = publication
            self.name = name
        }
    }

    /// A participant who has joined.
    public struct Person: Hashable, Codable, Sendable {
        public var user: UserID
        public var role: Role?
        public var name: String?

        public init(user: UserID, role: Role? = nil, name: String? = nil) {
            self.user = user
            self.role = role
            self.name = name
        }
    }
}
