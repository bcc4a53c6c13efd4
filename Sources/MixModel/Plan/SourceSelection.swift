import EncodedMedia
import LayoutEngine

/// A stream selected by its publisher. It need not exist yet: it is used as soon as it is published.
public struct SourceSelection: Hashable, Codable, Sendable {
    /// Room of the stream; `nil` means the task's own. Another one must be of the same tenant.
    public var room: RoomID?
    public var user: UserID
    /// Kind of the stream; `nil` means the camera, without one the screen, and without either audio alone.
    public var kind: StreamKind?
    public var tracks: Tracks

    /// The tracks of a stream that are used.
    public typealias Tracks = TrackSelection

    public init(room: RoomID? = nil, user: UserID, kind: StreamKind? = nil, tracks: Tracks = .all) {
        self.room = room
        self.user = user
        self.kind = kind
        self.tracks = tracks
    }
}
