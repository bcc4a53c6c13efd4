/// A watermark, a text, a clock or a web page over the panes, or between them.
public struct Overlay: Hashable, Codable, Sendable {
    /// Identifier, unique in its scene.
    public var id: String
    /// Left edge in canvas pixels. This and the other three lengths are even, and the overlay lies inside the canvas.
    public var x: Int
    public var y: Int
    public var width: Int
    public var height: Int
    /// Place among the layers, on the scale of the panes' `z`; `nil` = in front of all panes.
    public var z: Int?
    public var opacity: UnitFraction
    public var content: Content

    /// Places among the layers: behind all panes, up to in front of all other overlays.
    public static let levels = -1...200
    /// The place in front of all panes, whose `z` is at most 100.
    public static let usualLevel = 100

    /// Place among the layers. The overlay is in front of panes with the same `z`.
    public var level: Int { z ?? Self.usualLevel }

    public init(
        id: String, x: Int, y: Int, width: Int, height: Int, z: Int? = nil, opacity: UnitFraction = .whole,
        content: Content
    ) {
        self.id = id
        self.x = x
        self.y = y
        self.width = width
        self.height = height
        self.z = z
        self.opacity = opacity
        self.content = content
    }

    public enum Content: Hashable, Codable, Sendable {
        /// An image that is shown whole in the rectangle, named as in `Pane.Fallback.image`.
        case image(String, align: Pane.Alignment)
        case text(String, TextStyle)
        /// The time of day, `utcOffset` minutes east of UTC (−840…840).
        case clock(ClockFormat, utcOffset: Int, TextStyle)
        /// A web page. `picture` is the path of a PNG file of the rectangle's size, with premultiplied alpha, that is
        /// replaced whenever the page changes and is missing while there is no picture; `nil` = the page is not shown.
        case page(PageAddress, picture: String?)
    }

    /// The format of a clock.
    public enum ClockFormat: String, Hashable, Codable, Sendable, CaseIterable {
        case time = "HH:mm:ss"
        case minutes = "HH:mm"
        case date = "yyyy-MM-dd"
        case dateAndTime = "yyyy-MM-dd HH:mm:ss"
    }
}

/// The appearance of a text in a rectangle.
public struct TextStyle: Hashable, Codable, Sendable {
    /// Height of the letters in canvas pixels.
    public var size: Int
    public var colour: RGB
    public var isBold: Bool
    public var align: Pane.Alignment
    /// Colour that fills the rectangle behind the text; `nil` for none.
    public var background: RGB?
    /// Opacity of the background only.
    public var backgroundOpacity: UnitFraction
    /// Radius of the background's corners in canvas pixels; `nil` for square ones.
    public var radius: Int?
    /// Font family; `nil` for the default one.
    public var font: Font.Family?
    /// Whether letters without a background have an outline, so that they are legible on any picture; `nil` means yes.
    public var hasOutline: Bool?
    /// Minutes east of UTC of `{clock}` in a text (−840…840); `nil` means 0.
    public var utcOffset: Int?
    /// Time at which `{countdown}` in a text ends, in seconds since 1970; `nil` for none.
    public var until: Int?

    public init(
        size: Int, colour: RGB = .white, isBold: Bool = false, align: Pane.Alignment = .centre, background: RGB? = nil,
        backgroundOpacity: UnitFraction = .whole, radius: Int? = nil, font: Font.Family? = nil,
        hasOutline: Bool? = nil, utcOffset: Int? = nil, until: Int? = nil
    ) {
        self.until = until
        self.hasOutline = hasOutline
        self.utcOffset = utcOffset
        self.radius = radius
        self.font = font
        self.size = size
        self.colour = colour
        self.isBold = isBold
        self.align = align
        self.background = background
        self.backgroundOpacity = backgroundOpacity
    }
}
