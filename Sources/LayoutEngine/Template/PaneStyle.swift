/// The appearance of a pane, in shares of the canvas.
public struct PaneStyle: Hashable, Sendable {
    public var fit: Pane.Fit
    /// The fit of a shared screen; `nil` = `fit`.
    public var screenFit: Pane.Fit?
    public var align: Pane.Alignment
    public var opacity: UnitFraction
    public var border: BorderStyle?
    public var label: LabelStyle?
    public var fallback: Fallbacks
    /// Radius of the corners as a share of the canvas' shorter side, 0…0.25.
    public var radius: UnitFraction
    public var shadow: ShadowStyle?
    /// Border of a participant who speaks.
    public var speaking: BorderStyle?
    /// Blurred copy of a picture around it, where `fit` is `contain`.
    public var surround: SurroundStyle?
    /// Look of cards.
    public var card: Card.Style

    public init(
        fit: Pane.Fit = .cover, align: Pane.Alignment = .centre, opacity: UnitFraction = .whole,
        border: BorderStyle? = nil, label: LabelStyle? = nil, fallback: Fallbacks = Fallbacks(),
        radius: UnitFraction = .zero, shadow: ShadowStyle? = nil, speaking: BorderStyle? = nil,
        card: Card.Style = .flat, surround: SurroundStyle? = nil, screenFit: Pane.Fit? = nil
    ) {
        self.screenFit = screenFit
        self.surround = surround
        self.radius = radius
        self.shadow = shadow
        self.speaking = speaking
        self.card = card
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

    /// The appearance of a pane's shadow.
    public struct ShadowStyle: Hashable, Sendable {
        /// Width of the soft edge as a share of the canvas' shorter side, 0…0.1.
        public var blur: UnitFraction
        /// Distance by which the shadow is lower than the pane, as a share of the canvas' shorter side, 0…0.05.
        public var offset: UnitFraction
        public var colour: RGB
        public var opacity: UnitFraction

        public init(
            blur: UnitFraction = UnitFraction(0.03), offset: UnitFraction = UnitFraction(0.008), colour: RGB = .black,
            opacity: UnitFraction = UnitFraction(0.45)
        ) {
            self.blur = blur
            self.offset = offset
            self.colour = colour
            self.opacity = opacity
        }
    }

    /// The appearance of the blurred copy around a picture.
    public struct SurroundStyle: Hashable, Sendable {
        /// Radius of the blur as a share of the canvas' shorter side, 0…0.1.
        public var blur: UnitFraction
        /// Share of black laid over it.
        public var dim: UnitFraction

        public init(blur: UnitFraction = UnitFraction(0.05), dim: UnitFraction = UnitFraction(0.35)) {
            self.blur = blur
            self.dim = dim
        }
    }

    /// The appearance of the bar or pill with a participant's name. Panes that are too small for it have none, nor do
    /// cards, which show the name themselves.
    public struct LabelStyle: Hashable, Sendable {
        public var edge: Label.Edge
        public var side: Label.Side
        /// Height of the letters as a share of the canvas' shorter side, 0.01…0.2.
        public var size: UnitFraction
        public var colour: RGB
        public var background: RGB
        /// Opacity of the background only.
        public var backgroundOpacity: UnitFraction
        public var style: Label.Style
        /// Whether a crossed-out microphone marks participants without audio.
        public var marksMuted: Bool
        public var font: Font

        public init(
            edge: Label.Edge = .bottom, side: Label.Side = .left,
            size: UnitFraction = UnitFraction(0.03), colour: RGB = .white, background: RGB = .black,
            backgroundOpacity: UnitFraction = UnitFraction(0.5), style: Label.Style = .bar, marksMuted: Bool = false,
            font: Font = Font()
        ) {
            self.style = style
            self.marksMuted = marksMuted
            self.font = font
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
        /// Time without a picture after which `stalled` replaces the last picture, in ms. 500…60000.
        public var cardAfter: Int
        /// Time without a packet after which a participant loses the pane, in ms. 1000…3600000.
        public var dropAfter: Int
        /// Text on the card of a stream that has stalled, at most 256 bytes; empty for none.
        public var reconnecting: String

        public init(
            cameraOff: Pane.Fallback = .card, absent: Pane.Fallback = .nothing, stalled: Pane.Fallback = .card,
            cardAfter: Int = Pane.usualCardAfter, dropAfter: Int = Pane.usualDropAfter,
            reconnecting: String = Pane.usualReconnecting
        ) {
            self.reconnecting = reconnecting
            self.cardAfter = cardAfter
            self.dropAfter = dropAfter
            self.cameraOff = cameraOff
            self.absent = absent
            self.stalled = stalled
        }
    }
}
