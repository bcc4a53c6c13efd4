/// The appearance of a pane, in shares of the canvas.
public struct PaneStyle: Hashable, Sendable {
    public var fit: Pane.Fit
    public var align: Pane.Alignment
    public var opacity: UnitFraction
    public var border: BorderStyle?
    public var label: LabelStyle?
    public var fallback: Fallbacks

    public init(
        fit: Pane.Fit = .cover, align: Pane.Alignment = .centre, opacity: UnitFraction = .whole,
        border: BorderStyle? = nil, label: LabelStyle? = nil, fallback: Fallbacks = Fallbacks()
    ) {
        self.fit = fit
        self.align = align
        self.opacity = opacity
        self.border = border
        self.label = label
        self.fallback = fallback
    }

    public struct BorderStyle: Hashable, Sendable {
        /// Width as a share of the canvas' shorter side, 0…0.05.
        public var width: UnitFraction
        public var colour: RGB

        public init(width: UnitFraction = UnitFraction(0.004), colour: RGB = .white) {
            self.width = width
            self.colour = colour
        }
    }

    /// The appearance of the bar with a participant's name. Panes too small for it have none, and neither do cards,
    /// which show the name themselves.
    public struct LabelStyle: Hashable, Sendable {
        public var edge: Label.Edge
        public var side: Label.Side
        /// Height of the letters as a share of the canvas' shorter side, 0.01…0.2.
        public var size: UnitFraction
        public var colour: RGB
        public var background: RGB
        /// Opacity of the background alone.
        public var backgroundOpacity: UnitFraction

        public init(
            edge: Label.Edge = .bottom, side: Label.Side = .left,
            size: UnitFraction = UnitFraction(0.03), colour: RGB = .white, background: RGB = .black,
            backgroundOpacity: UnitFraction = UnitFraction(0.5)
        ) {
            self.edge = edge
            self.side = side
            self.size = size
            self.colour = colour
            self.background = background
            self.backgroundOpacity = backgroundOpacity
        }
    }

    /// The content of a pane without a picture, by reason.
    public struct Fallbacks: Hashable, Sendable {
        /// Shown for a participant who is present without a picture.
        public var cameraOff: Pane.Fallback
        /// Shown in a pane without a participant; with `nothing` there is no pane.
        public var absent: Pane.Fallback
        /// Shown while pictures should arrive but do not.
        public var stalled: Pane.Fallback
        /// Time without a picture after which `stalled` takes the place of the last picture, in ms. 500…60000.
        public var cardAfter: Int
        /// Time without a packet after which a participant loses the pane, in ms. 1000…3600000.
        public var dropAfter: Int

        public init(
            cameraOff: Pane.Fallback = .card, absent: Pane.Fallback = .nothing, stalled: Pane.Fallback = .card,
            cardAfter: Int = Pane.usualCardAfter, dropAfter: Int = Pane.usualDropAfter
        ) {
            self.cardAfter = cardAfter
            self.dropAfter = dropAfter
            self.cameraOff = cameraOff
            self.absent = absent
            self.stalled = stalled
        }
    }
}
