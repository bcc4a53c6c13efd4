/// The result of a layout for given participants: the picture and the sound that the mixer makes, in integer pixels.
///
/// The order from back to front is the canvas' colour, `background`, the panes, the overlays.
public struct Scene: Hashable, Codable, Sendable {
    public var canvas: Canvas
    /// Image that covers the canvas behind all panes.
    public var background: Backdrop?
    /// The panes from back to front: by `z`, then in the order in which places are assigned. A source has at most one.
    public var panes: [Pane]
    /// The overlays over all panes, from back to front.
    public var overlays: [Overlay]
    /// The sources that are heard, and their gains.
    public var sound: SceneSound
    /// The transition from the scene before this one.
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
        /// The image's name, as in `Pane.Fallback.image`.
        public var image: String
        public var fit: Pane.Fit

        public init(image: String, fit: Pane.Fit = .cover) {
            self.image = image
            self.fit = fit
        }
    }
}
