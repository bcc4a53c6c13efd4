/// A stream that a scene may show, with its current properties.
///
/// A user who shares a camera and a screen counts as two participants with the same `user`.
public struct LayoutParticipant: Hashable, Codable, Sendable {
    /// The role of a user in the room. Hosts come before guests.
    public enum Role: String, Hashable, Codable, Sendable, CaseIterable {
        case host, guest
    }

    /// The kind of a stream.
    public enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
        case camera, screen, audio
    }

    /// The stream, `user/stream`; becomes `Pane.source`.
    public var source: String
    public var user: String
    /// Display name; `nil` shows the name passed to `LayoutEngine.plan`, or else the user's identifier.
    public var name: String?
    public var role: Role
    public var kind: Kind
    /// Position in the order of arrival. Any integers may be used; only their order matters.
    public var joinOrder: Int
    /// Whether the stream has a picture. False while the camera is off, and for audio-only streams.
    public var hasVideo: Bool
    /// Whether the stream has audio. False while it is muted.
    public var hasAudio: Bool
    /// Size of the stream's pictures in pixels; `nil` until it is known.
    public var pictureSize: Size?

    /// The size of a picture in pixels.
    public struct Size: Hashable, Codable, Sendable {
        public var width: Int
        public var height: Int

        public init(width: Int, height: Int) {
            self.width = width
            self.height = height
        }
    }

    public init(
        source: String, user: String, name: String? = nil, role: Role = .guest, kind: Kind = .camera,
        joinOrder: Int, hasVideo: Bool = true, hasAudio: Bool = true, pictureSize: Size? = nil
    ) {
        self.source = source
        self.user = user
        self.name = name
        self.role = role
        self.kind = kind
        self.joinOrder = joinOrder
        self.hasVideo = hasVideo
        self.hasAudio = hasAudio
        self.pictureSize = pictureSize
    }
}
