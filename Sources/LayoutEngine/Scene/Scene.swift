/// The result of a layout for given participants: what the mixer draws and sounds, in integer pixels.
///
/// From back to front: the canvas' colour, `background`, the panes, the overlays.
public struct Scene: Hashable, Codable, Sendable {
    public var canvas: Canvas
    /// Covers the canvas behind all panes.
    public var background: Backdrop?
    /// Ordered from back to front (`z`, then the order in which slots are given away). A source has at most one.
    public var panes: [Pane]
    /// Over all panes, from back to front.
    public var overlays: [Overlay]
    /// Who is heard, and how loud.
    public var sound: SceneSound
    /// How this scene comes after the one before it.
    public var transition: Transition

    public init(
        canvas: Canvas, background: Backdrop? = nil, panes: [Pane], overlays: [Overlay] = [],
        sound: SceneSound = SceneSound(), transition: Transition = .cut
    ) {
        self.canvas = canvas
        self.background = background
        self.panes = panes
        self.overlays = overlays
        self.sound = sound
        self.transition = transition
    }

    /// An image that covers the canvas.
    public struct Backdrop: Hashable, Codable, Sendable {
        /// As in `Fallback.image`.
        public var image: String
        public var fit: Pane.Fit

        public init(image: String, fit: Pane.Fit = .cover) {
            self.image = image
            self.fit = fit
        }
    }
}
