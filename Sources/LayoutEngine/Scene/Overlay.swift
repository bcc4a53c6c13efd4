/// Something that lies over all panes: a watermark, a text, a clock.
public struct Overlay: Hashable, Codable, Sendable {
    /// Unique in its scene.
    public var id: String
    /// In canvas pixels, even, inside the canvas.
    public var x: Int
    public var y: Int
    public var width: Int
    public var height: Int
    public var opacity: UnitFraction
    public var content: Content

    public init(
        id: String, x: Int, y: Int, width: Int, height: Int, opacity: UnitFraction = .whole, content: Content
    ) {
        self.id = id
        self.x = x
        self.y = y
        self.width = width
        self.height = height
        self.opacity = opacity
        self.content = content
    }

    public enum Content: Hashable, Codable, Sendable {
        /// Shown whole in the rectangle; the name as in `Pane.Fallback.image`.
        case image(String, align: Pane.Alignment)
        case text(String, TextStyle)
        /// The time of day, `utcOffset` minutes east of UTC (−840…840).
        case clock(ClockFormat, utcOffset: Int, TextStyle)
    }

    /// What a clock shows.
    public enum ClockFormat: String, Hashable, Codable, Sendable, CaseIterable {
        case time = "HH:mm:ss"
        case minutes = "HH:mm"
        case date = "yyyy-MM-dd"
        case dateAndTime = "yyyy-MM-dd HH:mm:ss"
    }
}

/// How a text in a rectangle looks.
public struct TextStyle: Hashable, Codable, Sendable {
    /// Height of the letters in canvas pixels.
    public var size: Int
    public var colour: RGB
    public var isBold: Bool
    public var align: Pane.Alignment
    /// Fills the rectangle behind the text.
    public var background: RGB?
    /// Of the background alone.
    public var backgroundOpacity: UnitFraction

    public init(
        size: Int, colour: RGB = .white, isBold: Bool = false, align: Pane.Alignment = .centre, background: RGB? = nil,
        backgroundOpacity: UnitFraction = .whole
    ) {
        self.size = size
        self.colour = colour
        self.isBold = isBold
        self.align = align
        self.background = background
        self.backgroundOpacity = backgroundOpacity
    }
}
