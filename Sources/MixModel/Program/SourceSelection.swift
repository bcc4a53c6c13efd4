import LayoutEngine

/// A stream by whose it is. It need not be there: it is taken as soon as it is published.
public struct SourceSelection: Hashable, Codable, Sendable {
    /// `nil` = the task's own. Another one must be of the same tenant.
    public var room: RoomID?
    public var user: UserID
    /// `nil` = the camera; while there is none the screen, then sound alone.
    public var kind: StreamKind?
    public var tracks: Tracks

    /// What of a stream is taken.
    public enum Tracks: String, Hashable, Codable, Sendable, CaseIterable {
        case all, audio, video
    }

    public init(room: RoomID? = nil, user: UserID, kind: StreamKind? = nil, tracks: Tracks = .all) {
        self.room = room
        self.user = user
        self.kind = kind
        self.tracks = tracks
    }
}
