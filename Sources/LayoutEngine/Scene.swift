/// The result of a layout for given participants: what the mixer draws, in integer pixels.
public struct Scene: Hashable, Codable, Sendable {
    public var canvas: Canvas
    /// Ordered from back to front (`z`, then join order).
    public var panes: [Pane]

    public init(canvas: Canvas, panes: [Pane]) {
        self.canvas = canvas
        self.panes = panes
    }
}

/// One rectangle of a scene and the stream it shows.
public struct Pane: Hashable, Codable, Sendable {
    /// The stream shown, `user/stream` as in `SourceID`.
    public var source: String
    /// The user whose stream it is.
    public var user: String
    /// Left edge in canvas pixels, even.
    public var x: Int
    /// Top edge in canvas pixels, even.
    public var y: Int
    /// In pixels, even, at least 2.
    public var width: Int
    /// In pixels, even, at least 2.
    public var height: Int
    /// Higher is nearer to the viewer.
    public var z: Int
    public var fit: Fit

    public init(
        source: String, user: String, x: Int, y: Int, width: Int, height: Int, z: Int = 0, fit: Fit = .cover
    ) {
        self.source = source
        self.user = user
        self.x = x
        self.y = y
        self.width = width
        self.height = height
        self.z = z
        self.fit = fit
    }

    /// How a picture of another shape is brought into the pane.
    public enum Fit: String, Hashable, Codable, Sendable, CaseIterable {
        /// Fills the pane and crops what stands over, centred.
        case cover
        /// Shows the whole picture, centred, with background beside it.
        case contain
        /// Fills the pane and changes the picture's shape.
        case stretch
    }
}
