import LayoutEngine

/// Everything that is published in a room at one moment: puts right what lost events left wrong.
public struct RoomSnapshot: Hashable, Codable, Sendable {
    /// At most one of each user and kind. Streams that are not among them have ended.
    public var streams: [Stream]
    /// Who has joined; `nil` = says nothing about it, and who has joined stays.
    public var participants: [Person]?

    /// Most streams of one snapshot.
    public static let mostStreams = 256
    /// Most participants of one snapshot.
    public static let mostParticipants = 1000

    public init(streams: [Stream], participants: [Person]? = nil) {
        self.streams = streams
        self.participants = participants
    }

    /// A stream and what its publisher is called.
    public struct Stream: Hashable, Codable, Sendable {
        public var publication: Publication
        public var name: String?

        public var id: SourceID { SourceID(user: publication.user, stream: publication.stream) }

        public init(_ publication: Publication, name: String? = nil) {
            self.publication = publication
            self.name = name
        }
    }

    /// Somebody who has joined.
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
