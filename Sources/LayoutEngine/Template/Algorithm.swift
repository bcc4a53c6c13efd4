/// A rule that divides a rectangle among any number of people.
public enum Algorithm: Hashable, Sendable {
    /// The first person alone.
    case solo
    /// One row of equal columns, none narrower than 9:16, centred vertically.
    case sideBySide
    /// The first person fills the rectangle; the others are small, stacked from a corner. `size` is the small pane's
    /// share of the rectangle's width and height.
    case pictureInPicture(corner: Corner, size: UnitFraction)
    /// Rows and columns with the largest tiles, the last row centred. With `tileAspect` tiles have that shape;
    /// otherwise they fill their cells between 9:16 and 16:9.
    case grid(tileAspect: Aspect?)
    /// The first person large, the others in a strip at an edge.
    case spotlight(Spotlight)
    /// Equal parts that fill the rectangle, one below or beside the other.
    case stack(Direction)

    /// The corner of the small panes; the raw value is the word in a file.
    public enum Corner: String, Hashable, Sendable, CaseIterable {
        case topLeft = "top-left"
        case topRight = "top-right"
        case bottomLeft = "bottom-left"
        case bottomRight = "bottom-right"
    }

    public enum Direction: String, Hashable, Sendable, CaseIterable {
        case vertical, horizontal
    }

    public struct Spotlight: Hashable, Sendable {
        /// The edge at which the strip lies.
        public enum Edge: String, Hashable, Sendable, CaseIterable {
            case bottom, top, left, right
            /// At the right of a landscape canvas, otherwise at the bottom.
            case automatic = "auto"
        }

        public var edge: Edge
        /// The strip's share of the height (of the width at the left and right). Space that its tiles do not need goes
        /// to the large pane.
        public var size: UnitFraction
        /// The most people in the strip; the others are only heard.
        public var most: Int
        /// Shape of the strip's tiles, as in `grid`.
        public var tileAspect: Aspect?

        public init(
            edge: Edge = .automatic, size: UnitFraction = UnitFraction(0.25),
            most: Int = LayoutLimits.mostPanes - 1, tileAspect: Aspect? = nil
        ) {
            self.edge = edge
            self.size = size
            self.most = most
            self.tileAspect = tileAspect
        }
    }
}
