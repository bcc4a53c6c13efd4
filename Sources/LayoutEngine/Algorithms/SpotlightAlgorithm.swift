/// The first person large, the others in a strip at an edge.
public struct SpotlightAlgorithm: Hashable, Sendable {
    /// The edge at which the strip lies.
    public enum Edge: String, Hashable, Sendable, CaseIterable {
        case bottom, top, left, right
        /// The right edge of a landscape canvas, otherwise the bottom edge.
        case automatic = "auto"
    }

    public var edge: Edge
    /// The strip's share of the height (of the width at the left and right). Space that its tiles do not need goes to the
    /// large pane.
    public var size: UnitFraction
    /// Maximum number of people in the strip; the others are only heard.
    public var most: Int
    /// Shape of the strip's tiles, as in a grid.
    public var tileAspect: Aspect?

    public init(
        edge: Edge = .automatic, size: UnitFraction = UnitFraction(0.25), most: Int = LayoutLimits.mostPanes - 1,
        tileAspect: Aspect? = nil
    ) {
        self.edge = edge
        self.size = size
        self.most = most
        self.tileAspect = tileAspect
    }
}

extension SpotlightAlgorithm: LayoutAlgorithm {
    private static let sizes = 0.05...0.5
    private static let numbers = 1...LayoutLimits.mostPanes - 1

    static let name = "spotlight"
    static let summary = "the first participant large, others in a strip"
    static let keys = [
        AlgorithmKey.words(
            "edge", default: Self().edge,
            "position of the strip. `auto` = at the right of a landscape canvas, otherwise at the bottom"),
        .number("size", in: sizes, default: Self().size, "the strip's share of the side that it occupies"),
        .integer("max", in: numbers, default: Self().most, "maximum number of participants in the strip"),
        .tileAspect,
    ]

    init(_ reader: inout JSONObjectReader, issues: inout [LayoutIssue]) {
        self.init()
        if let edge = reader.choice("edge", of: Edge.self, issues: &issues) { self.edge = edge }
        if let size = reader.fraction("size", in: Self.sizes, issues: &issues) { self.size = size }
        if let most = reader.integer("max", in: Self.numbers, issues: &issues) { self.most = most }
        tileAspect = reader.aspect("tileAspect", issues: &issues)
    }

    /// Returns the large rectangle, then the strip's tiles: a grid at the edge. Depth that the tiles do not use goes to
    /// the large rectangle.
    func rectangles(among count: Int, in space: LayoutSpace) -> [Rectangle] {
        let content = space.content
        let edge = edge == .automatic ? space.orientation == .landscape ? .right : .bottom : edge
        let isRow = edge == .top || edge == .bottom
        let length = isRow ? content.height : content.width
        let others = min(count - 1, most)
        guard others > 0, length >= 4 else { return [content] }
        let depth = min(max(size.evenPixels(of: length), 2), length - 2)
        let strip = space.part(content.slice(edge, depth))
        let tiles = strip.grid(others, tileAspect)
        let near = tiles.map { isRow ? $0.y : $0.x }.min() ?? 0
        let far = tiles.map { isRow ? $0.y + $0.height : $0.x + $0.width }.max() ?? 0
        let origin = isRow ? strip.content.y : strip.content.x
        // The grid centres the tiles in the strip; this moves them to the edge.
        let shift = edge == .top || edge == .left ? origin - near : origin + depth - far
        let free = length - (far - near)
        let main = content.slice(edge.opposite, free - space.gap >= 2 ? free - space.gap : free)
        return [main]
            + tiles.map {
                Rectangle(
                    x: isRow ? $0.x : $0.x + shift, y: isRow ? $0.y + shift : $0.y, width: $0.width, height: $0.height)
            }
    }
}

extension Algorithm {
    /// The first person large, the others in a strip at an edge.
    public static func spotlight(_ spotlight: SpotlightAlgorithm) -> Algorithm { Algorithm(spotlight) }
}

extension Rectangle {
    /// Returns the part of this depth along an edge.
    fileprivate func slice(_ edge: SpotlightAlgorithm.Edge, _ depth: Int) -> Rectangle {
        switch edge {
        case .top: Rectangle(x: x, y: y, width: width, height: depth)
        case .bottom, .automatic: Rectangle(x: x, y: y + height - depth, width: width, height: depth)
        case .left: Rectangle(x: x, y: y, width: depth, height: height)
        case .right: Rectangle(x: x + width - depth, y: y, width: depth, height: height)
        }
    }
}

extension SpotlightAlgorithm.Edge {
    fileprivate var opposite: Self {
        switch self {
        case .top: .bottom
        case .bottom, .automatic: .top
        case .left: .right
        case .right: .left
        }
    }
}
