/// The settings shared by the arrangements of a template, each of which may override them.
public struct ArrangementSettings: Hashable, Sendable {
    /// Style of panes that do not have their own.
    public var style: PaneStyle
    /// Distance between neighbouring panes as a share of the canvas' shorter side, 0…0.25. Explicit panes ignore it.
    public var gap: UnitFraction
    /// Distance between panes and the canvas' edge as a share of the canvas' shorter side, 0…0.25. Explicit panes
    /// ignore it.
    public var margin: UnitFraction
    /// Whether people without a picture get no pane and are only heard. If false, they get a pane with their card.
    public var omitsAudioOnly: Bool
    /// The transition from the scene before this one.
    public var transition: Transition
    public var sound: SoundTemplate
    /// Overlays from back to front, at most `LayoutLimits.mostOverlays`.
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
