/// A watermark, a text, a clock or a web page over the panes, or between them, as written by an operator.
public struct OverlayTemplate: Hashable, Sendable {
    /// Identifier, unique among the overlays of an arrangement.
    public var id: String
    public var place: Position
    /// Place among the layers, as `Overlay.level`.
    public var z: Int
    public var opacity: UnitFraction
    public var content: Content

    public init(
        id: String, place: Position, z: Int = Overlay.usualLevel, opacity: UnitFraction = .whole, content: Content
    ) {
        self.id = id
        self.place = place
        self.z = z
        self.opacity = opacity
        self.content = content
    }

    public enum Position: Hashable, Sendable {
        /// At an edge, in a corner or in the middle of the canvas, as large as its content. `margin` is the distance
        /// from the edges as a share of the canvas' shorter side, 0…0.25.
        case at(Pane.Alignment, margin: UnitFraction)
        case area(Area)
    }

    public enum Content: Hashable, Sendable {
        /// An image that is shown whole. Without its own area it fills a square of `size`, a share of the canvas'
        /// shorter side.
        case image(String, align: Pane.Alignment, size: UnitFraction = defaultImageSize)
        case text(String, Style)
        /// A clock, `utcOffset` minutes east of UTC (−840…840).
        case clock(Overlay.ClockFormat, utcOffset: Int, Style)
        /// A web page with its transparency, rendered by a browser at the size of the rectangle.
        ///
        /// - Parameter picture: Beginning of the path of its picture; `nil` = pages are not shown.
        case page(PageAddress, picture: String?)
    }

    public static let defaultImageSize = UnitFraction(0.15)

    /// The appearance of a text.
    public struct Style: Hashable, Sendable {
        /// Height of the letters as a share of the canvas' shorter side, 0.01…0.2.
        public var size: UnitFraction
        public var colour: RGB
        public var isBold: Bool
        /// Alignment of the text in its area.
        public var align: Pane.Alignment
        public var background: RGB?
        /// Opacity of the background only.
        public var backgroundOpacity: UnitFraction
        /// Radius of the background's corners as a share of the canvas' shorter side, 0…0.25.
        public var radius: UnitFraction
        public var font: Font.Family
        /// Whether letters without a background have an outline.
        public var hasOutline: Bool
        /// Minutes east of UTC of `{clock}` in a text, −840…840.
        public var utcOffset: Int
        /// Time at which `{countdown}` in a text ends, in seconds since 1970; `nil` = it has no value.
        public var until: Int?

        public init(
            size: UnitFraction = UnitFraction(0.03), colour: RGB = .white, isBold: Bool = false,
            align: Pane.Alignment = .centre, background: RGB? = nil,
            backgroundOpacity: UnitFraction = UnitFraction(0.5),
            radius: UnitFraction = .zero, font: Font.Family = .sans, hasOutline: Bool = true, utcOffset: Int = 0,
            until: Int? = nil
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
}
