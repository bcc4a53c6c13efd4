/// A name at the edge of a pane: in a bar as wide as the pane, or in a pill as wide as the name.
public struct Label: Hashable, Codable, Sendable {
    public enum Edge: String, Hashable, Codable, Sendable, CaseIterable {
        case top, bottom
    }

    public enum Side: String, Hashable, Codable, Sendable, CaseIterable {
        case left
        case centre = "center"
        case right
    }

    public enum Style: String, Hashable, Codable, Sendable, CaseIterable {
        case bar, pill
    }

    public var text: String
    public var edge: Edge
    public var side: Side
    /// Height of the letters in canvas pixels; the bar or pill is twice as high.
    public var size: Int
    public var colour: RGB
    public var background: RGB
    /// Opacity of the background only.
    public var backgroundOpacity: UnitFraction
    /// The form; `nil` means `bar`.
    public var style: Style?
    /// Whether a crossed-out microphone precedes the name; `nil` means no.
    public var isMuted: Bool?
    public var font: Font?

    public init(
        text: String, edge: Edge = .bottom, side: Side = .left, size: Int, colour: RGB = .white,
        background: RGB = .black, backgroundOpacity: UnitFraction = UnitFraction(0.5), style: Style? = nil,
        isMuted: Bool? = nil, font: Font? = nil
    ) {
        self.style = style
        self.isMuted = isMuted
        self.font = font
        self.text = text
        self.edge = edge
        self.side = side
        self.size = size
        self.colour = colour
        self.background = background
        self.backgroundOpacity = backgroundOpacity
    }
}
