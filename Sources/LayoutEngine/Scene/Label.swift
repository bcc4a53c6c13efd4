/// A bar with a name at the edge of a pane, as wide as the pane.
public struct Label: Hashable, Codable, Sendable {
    public enum Edge: String, Hashable, Codable, Sendable, CaseIterable {
        case top, bottom
    }

    public enum Side: String, Hashable, Codable, Sendable, CaseIterable {
        case left
        case centre = "center"
        case right
    }

    public var text: String
    public var edge: Edge
    public var side: Side
    /// Height of the letters in canvas pixels; the bar is twice as high.
    public var size: Int
    public var colour: RGB
    public var background: RGB
    /// Opacity of the background alone.
    public var backgroundOpacity: UnitFraction

    public init(
        text: String, edge: Edge = .bottom, side: Side = .left, size: Int, colour: RGB = .white,
        background: RGB = .black, backgroundOpacity: UnitFraction = UnitFraction(0.5)
    ) {
        self.text = text
        self.edge = edge
        self.side = side
        self.size = size
        self.colour = colour
        self.background = background
        self.backgroundOpacity = backgroundOpacity
    }
}
