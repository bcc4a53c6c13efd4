import LayoutEngine

/// The canvas on which a room's mixes are composed.
public struct RoomCanvas: Hashable, Sendable {
    /// The fixed canvas. If the canvas follows the host, this provides its background, and its size and frame rate
    /// until the host's picture is known.
    public var canvas: Canvas
    /// Whether size and frame rate follow the host's picture, within `FollowedPicture.limits`.
    public var followsHost: Bool

    public init(_ canvas: Canvas, followsHost: Bool = false) {
        self.canvas = canvas
        self.followsHost = followsHost
    }

    /// The word for `followsHost` in documents: `"canvas": "host"`, or `"follows": "host"` beside the size.
    public static let hostWord = "host"
}

extension RoomCanvas: Codable {
    private enum Key: String, CodingKey { case follows }

    /// Creates the canvas of a document: the fields of a `Canvas`, plus `follows`, which fixed canvases do not have.
    public init(from decoder: any Decoder) throws {
        let follows = try decoder.container(keyedBy: Key.self).decodeIfPresent(String.self, forKey: .follows)
        self.init(try Canvas(from: decoder), followsHost: follows == Self.hostWord)
    }

    public func encode(to encoder: any Encoder) throws {
        try canvas.encode(to: encoder)
        guard followsHost else { return }
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(Self.hostWord, forKey: .follows)
    }
}
