/// One rectangle of a scene and the stream it shows.
public struct Pane: Hashable, Codable, Sendable {
    /// The stream shown, `user/stream` as in `SourceID`; a pane whose user is absent has the name of a stream that does
    /// not exist, unique in its scene.
    public var source: String
    /// The user whose stream it is; empty in a pane that nobody is bound to.
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
    /// Where a picture of another shape lies in the pane: what `cover` keeps and where `contain` puts it.
    public var align: Alignment
    public var opacity: UnitFraction
    /// Drawn over the picture's edge, inside the pane.
    public var border: Border?
    /// Drawn over the picture, inside the pane.
    public var label: Label?
    /// Whether the stream is shown; `false` = its `fallback`: the camera is off, or the user absent.
    public var isLive: Bool
    /// Instead of the stream: while it is not live, and when its pictures stop coming.
    public var fallback: Fallback
    /// What `Fallback.card` shows, and any fallback that cannot be shown itself.
    public var card: Card
    /// Fills the pane behind whatever it shows; `nil` = what is behind the pane shines through.
    public var matte: RGB?

    public init(
        source: String, user: String, x: Int, y: Int, width: Int, height: Int, z: Int = 0, fit: Fit = .cover,
        align: Alignment = .centre, opacity: UnitFraction = .whole, border: Border? = nil, label: Label? = nil,
        isLive: Bool = true, fallback: Fallback = .lastFrame, card: Card? = nil, matte: RGB? = nil
    ) {
        self.source = source
        self.user = user
        self.x = x
        self.y = y
        self.width = width
        self.height = height
        self.z = z
        self.fit = fit
        self.align = align
        self.opacity = opacity
        self.border = border
        self.label = label
        self.isLive = isLive
        self.fallback = fallback
        self.card = card ?? Card(name: user, user: user)
        self.matte = matte
    }

    /// How a picture of another shape is brought into the pane.
    public enum Fit: String, Hashable, Codable, Sendable, CaseIterable {
        /// Fills the pane and crops what stands over.
        case cover
        /// Shows the whole picture, with background beside it.
        case contain
        /// Fills the pane and changes the picture's shape.
        case stretch
    }

    /// A place inside a rectangle.
    public enum Alignment: String, Hashable, Codable, Sendable, CaseIterable {
        case topLeft = "top-left"
        case top
        case topRight = "top-right"
        case left
        case centre = "center"
        case right
        case bottomLeft = "bottom-left"
        case bottom
        case bottomRight = "bottom-right"

        /// 0 = left, 1 = middle, 2 = right.
        public var column: Int {
            switch self {
            case .topLeft, .left, .bottomLeft: 0
            case .top, .centre, .bottom: 1
            case .topRight, .right, .bottomRight: 2
            }
        }

        /// 0 = top, 1 = middle, 2 = bottom.
        public var row: Int {
            switch self {
            case .topLeft, .top, .topRight: 0
            case .left, .centre, .right: 1
            case .bottomLeft, .bottom, .bottomRight: 2
            }
        }
    }

    public struct Border: Hashable, Codable, Sendable {
        /// In canvas pixels, even, 2…64 and at most a quarter of the pane's shorter side.
        public var width: Int
        public var colour: RGB

        public init(width: Int, colour: RGB) {
            self.width = width
            self.colour = colour
        }
    }

    /// What a pane shows when there is no stream to show.
    public enum Fallback: Hashable, Codable, Sendable {
        /// The last picture that was there; the card if there was none.
        case lastFrame
        /// As the template names it: a URL, or a path relative to the layouts directory; in a scene for a mixer the
        /// path of a checked local file. The card if it cannot be shown.
        case image(String)
        /// Name and initials.
        case card
        /// What is behind the pane.
        case nothing
    }
}
