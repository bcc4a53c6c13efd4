/// What arrangements of a template share, and each may change for itself.
public struct ArrangementSettings: Hashable, Sendable {
    /// For panes that say nothing themselves.
    public var style: PaneStyle
    /// Between neighbouring panes, as a share of the canvas' shorter side, 0…0.25. Explicit panes ignore it.
    public var gap: UnitFraction
    /// Between panes and the canvas' edge, as a share of the canvas' shorter side, 0…0.25. Explicit panes ignore it.
    public var margin: UnitFraction
    /// True: people without a picture are heard and get no pane. False: they get one with their card.
    public var omitsAudioOnly: Bool
    /// How the scene comes after the one before it.
    public var transition: Transition
    public var sound: SoundTemplate
    /// From back to front, at most `LayoutEngine.mostOverlays`.
    public var overlays: [OverlayTemplate]

    public init(
        style: PaneStyle = PaneStyle(), gap: UnitFraction = .zero, margin: UnitFraction = .zero,
        omitsAudioOnly: Bool = false, transition: Transition = .cut, sound: SoundTemplate = SoundTemplate(),
        overlays: [OverlayTemplate] = []
    ) {
        self.style = style
        self.gap = gap
        self.margin = margin
        self.omitsAudioOnly = omitsAudioOnly
        self.transition = transition
        self.sound = sound
        self.overlays = overlays
    }
}
