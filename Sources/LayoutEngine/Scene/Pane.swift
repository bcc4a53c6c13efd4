/// A rectangle of a scene and the stream that it shows.
public struct Pane: Hashable, Codable, Sendable {
    /// The stream shown, `user/stream` as in `SourceID`. A pane whose user is absent has the name of a stream that does
    /// not exist, unique in its scene.
    public var source: String
    /// The user who publishes the stream; empty in a pane that is not bound to a user.
    public var user: String
    /// Left edge in canvas pixels, even.
    public var x: Int
    /// Top edge in canvas pixels, even.
    public var y: Int
    /// Width in canvas pixels, even, at least 2.
    public var width: Int
    /// Height in canvas pixels, even, at least 2.
    public var height: Int
    /// Position in the stack; higher is nearer to the viewer.
    public var z: Int
    public var fit: Fit
    /// Alignment of a picture of another shape: the part that `cover` keeps, and the place where `contain` puts it.
    public var align: Alignment
    public var opacity: UnitFraction
    /// Border drawn over the picture's edge, inside the pane.
    public var border: Border?
    /// Radius of the corners in canvas pixels: at most half of the pane's shorter side. `nil` for square corners.
    public var radius: Int?
    /// Shadow that the pane casts on the content behind it.
    public var shadow: Shadow?
    /// Border shown in place of `border` while the stream's participant speaks.
    public var speaking: Border?
    /// Label drawn over the picture, inside the pane.
    public var label: Label?
    /// Whether the stream is shown. If false, the pane shows its `fallback`: the camera is off, or the user is absent.
    public var isLive: Bool
    /// Content shown instead of the stream while it is not live, and when its pictures stop arriving.
    public var fallback: Fallback
    /// Time without a picture after which a live pane shows its `fallback`, in ms; `nil` means `usualCardAfter`. Until
    /// then it shows the last picture.
    public var cardAfter: Int?
    /// Time without a packet after which the stream counts as absent, so that its pane is given to other streams, in
    /// ms; `nil` means `usualDropAfter`.
    public var dropAfter: Int?
    /// Text on the card while a stream that was shown sends nothing; `nil` means `usualReconnecting`, an empty text
    /// means none.
    public var reconnecting: String?
    /// The card that `Fallback.card` shows, and that replaces a fallback that cannot be shown.
    public var card: Card
    /// Colour that fills the pane behind its content; `nil` lets the content behind the pane show through.
    public var matte: RGB?
    /// Blurred copy of the picture that fills the rest of the pane when `fit` is `contain`; `nil` for the matte, or the
    /// content behind the pane.
    public var surround: Surround?

    /// The usual `cardAfter`, in ms: longer than most network hiccups, because the last picture is better than a card
    /// that flashes up.
    public static let usualCardAfter = 2000
    /// The usual `dropAfter`, in ms: longer than a publisher's software takes to reconnect.
    public static let usualDropAfter = 30_000
    /// The usual `reconnecting`.
    public static let usualReconnecting = "Reconnecting…"

    public init(
        source: String, user: String, x: Int, y: Int, width: Int, height: Int, z: Int = 0, fit: Fit = .cover,
        align: Alignment = .centre, opacity: UnitFraction = .whole, border: Border? = nil, label: Label? = nil,
        isLive: Bool = true, fallback: Fallback = .lastFrame, card: Card? = nil, matte: RGB? = nil,
        cardAfter: Int? = nil, dropAfter: Int? = nil, radius: Int? = nil, shadow: Shadow? = nil,
        speaking: Border? = nil, surround: Surround? = nil, reconnecting: String? = nil
    ) {
        self.reconnecting = reconnecting
        self.surround = surround
        self.radius = radius
        self.shadow = shadow
        self.speaking = speaking
        self.cardAfter = cardAfter
        self.dropAfter = dropAfter
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

    /// The way in which a picture of another shape is fitted into the pane.
    public enum Fit: String, Hashable, Codable, Sendable, CaseIterable {
        /// Fills the pane and crops the excess.
        case cover
        /// Shows the whole picture, with background around it.
        case contain
        /// Fills the pane and changes the picture's shape.
        case stretch
    }

    /// A position inside a rectangle.
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

        /// The position's column: 0 = left, 1 = middle, 2 = right.
        public var column: Int {
            switch self {
            case .topLeft, .left, .bottomLeft: 0
            case .top, .centre, .bottom: 1
            case .topRight, .right, .bottomRight: 2
            }
        }

        /// The position's row: 0 = top, 1 = middle, 2 = bottom.
        public var row: Int {
            switch self {
            case .topLeft, .top, .topRight: 0
            case .left, .centre, .right: 1
            case .bottomLeft, .bottom, .bottomRight: 2
            }
        }
    }

    public struct Border: Hashable, Codable, Sendable {
        /// Width in canvas pixels: even, 2…64 and at most a quarter of the pane's shorter side.
        public var width: Int
        public var colour: RGB

        public init(width: Int, colour: RGB) {
            self.width = width
            self.colour = colour
        }
    }

    /// The content of a pane when there is no stream to show.
    public enum Fallback: Hashable, Codable, Sendable {
        /// The last picture of the stream, or the card if there was none.
        case lastFrame
        /// An image, as the template names it: a URL, or a path relative to the layouts directory. In a scene for a
        /// mixer it is the path of a checked local file. The card is shown if the image cannot be.
        case image(String)
        /// The card: name and initials.
        case card
        /// Nothing: the pane shows its matte, or the content behind the pane.
        case nothing
    }
}

extension Array<Pane> {
    /// Returns whether a pane overlaps an earlier one, so that its shadow falls on that pane and not only on the background.
    public func liesOverAnother(_ index: Int) -> Bool {
        let pane = self[index]
        return self[..<index].contains { other in
            pane.x < other.x + other.width && other.x < pane.x + pane.width && pane.y < other.y + other.height
                && other.y < pane.y + pane.height
        }
    }
}
