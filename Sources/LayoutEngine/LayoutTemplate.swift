/// What an operator writes about a layout: which arrangement of panes is used when.
///
/// A template knows no pixels, so one file serves every canvas. `LayoutEngine.plan` turns it into a `Scene`;
/// `decode` reads it from JSON and `layouts/README.md` describes that language.
public struct LayoutTemplate: Hashable, Sendable {
    /// The file's name without `.json`.
    public var name: String
    /// For people; not drawn.
    public var summary: String?
    /// Replaces what the room's canvas says, field by field.
    public var canvas: CanvasOverride
    /// The first whose condition holds is used. Where none does, `LayoutLibrary.automatic` decides.
    public var arrangements: [Arrangement]

    public init(
        name: String, summary: String? = nil, canvas: CanvasOverride = CanvasOverride(),
        arrangements: [Arrangement]
    ) {
        self.name = name
        self.summary = summary
        self.canvas = canvas
        self.arrangements = arrangements
    }

    /// The canvas of a program whose room asks for `room`: the template's own fields win.
    public func canvas(over room: Canvas) -> Canvas {
        Canvas(
            width: canvas.width ?? room.width, height: canvas.height ?? room.height, fps: canvas.fps ?? room.fps,
            background: canvas.background ?? room.background)
    }
}

/// The part of a canvas that a template fixes; `nil` leaves it to the room.
public struct CanvasOverride: Hashable, Sendable {
    public var width: Int?
    public var height: Int?
    public var fps: Int?
    public var background: RGB?

    public init(width: Int? = nil, height: Int? = nil, fps: Int? = nil, background: RGB? = nil) {
        self.width = width
        self.height = height
        self.fps = fps
        self.background = background
    }
}

/// One way to place people, and when it is used.
public struct Arrangement: Hashable, Sendable {
    public var when: Condition
    public var placement: Placement
    /// For panes that say nothing themselves.
    public var fit: Pane.Fit
    /// Between neighbouring panes, as a share of the canvas' shorter side, 0…0.25. Explicit panes ignore it.
    public var gap: UnitFraction
    /// Between panes and the canvas' edge, as a share of the canvas' shorter side, 0…0.25. Explicit panes ignore it.
    public var margin: UnitFraction

    public init(
        when: Condition = .always, placement: Placement, fit: Pane.Fit = .cover, gap: UnitFraction = .zero,
        margin: UnitFraction = .zero
    ) {
        self.when = when
        self.placement = placement
        self.fit = fit
        self.gap = gap
        self.margin = margin
    }

    /// All parts must hold.
    public struct Condition: Hashable, Sendable {
        /// How many people have a picture; people beyond `LayoutEngine.mostPanes` count too.
        public var people: ClosedRange<Int>

        public init(people: ClosedRange<Int>) { self.people = people }

        public static let always = Condition(people: 0...Int.max)
    }

    /// How people are put on the canvas.
    public enum Placement: Hashable, Sendable {
        /// The first person alone.
        case solo
        /// One row of equal columns, none narrower than 9:16, centred from top to bottom.
        case sideBySide
        /// The first person fills the canvas; the others are small, stacked from a corner. `size` is the small
        /// pane's share of the canvas' width and height.
        case pictureInPicture(corner: Corner, size: UnitFraction)
        /// Rows and columns with the largest tiles, the last row centred. With `tileAspect` tiles have exactly that
        /// shape, otherwise they fill their cells between 9:16 and 16:9.
        case grid(tileAspect: Aspect?)
        /// Rectangles that the operator wrote.
        case panes([PaneTemplate])
    }

    /// Where small panes stand; the raw value is the word in a file.
    public enum Corner: String, Hashable, Sendable, CaseIterable {
        case topLeft = "top-left"
        case topRight = "top-right"
        case bottomLeft = "bottom-left"
        case bottomRight = "bottom-right"
    }
}

/// Width to height, both 1…100.
public struct Aspect: Hashable, Sendable {
    public let width: Int
    public let height: Int

    /// `nil` when a side is outside 1…100.
    public init?(width: Int, height: Int) {
        guard 1...100 ~= width, 1...100 ~= height else { return nil }
        self.width = width
        self.height = height
    }

    private init(_ width: Int, _ height: Int) {
        self.width = width
        self.height = height
    }

    static let square = Aspect(1, 1)
    static let fourToThree = Aspect(4, 3)
    static let threeToFour = Aspect(3, 4)

    /// Reads `16:9`.
    public init?(_ text: String) {
        let sides = text.split(separator: ":", omittingEmptySubsequences: false)
        guard sides.count == 2, let width = Int(sides[0]), let height = Int(sides[1]) else { return nil }
        self.init(width: width, height: height)
    }
}

/// A rectangle in shares of the canvas and who is shown in it. It is left out while nobody is bound to it.
public struct PaneTemplate: Hashable, Sendable {
    /// Who is shown in a pane.
    public enum Binding: Hashable, Sendable {
        /// This user's first stream, whoever else is there.
        case user(String)
        /// The first person with this role whom no `user` pane claims.
        case role(LayoutParticipant.Role)
        /// Those left over fill the slots in ascending order.
        case slot(Int)
    }

    public var binding: Binding
    public var x: UnitFraction
    public var y: UnitFraction
    public var width: UnitFraction
    public var height: UnitFraction
    /// Higher is nearer to the viewer; panes of equal `z` never overlap.
    public var z: Int
    /// `nil`: as the arrangement says.
    public var fit: Pane.Fit?

    public init(
        binding: Binding, x: UnitFraction, y: UnitFraction, width: UnitFraction, height: UnitFraction, z: Int = 0,
        fit: Pane.Fit? = nil
    ) {
        self.binding = binding
        self.x = x
        self.y = y
        self.width = width
        self.height = height
        self.z = z
        self.fit = fit
    }

    func overlaps(_ other: PaneTemplate) -> Bool {
        x.millionths < other.x.millionths + other.width.millionths
            && other.x.millionths < x.millionths + width.millionths
            && y.millionths < other.y.millionths + other.height.millionths
            && other.y.millionths < y.millionths + height.millionths
    }
}
