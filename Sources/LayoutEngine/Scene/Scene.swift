/// The result of a layout for given participants: the picture and the audio that the mixer makes, in integer pixels.
///
/// The order from back to front is the canvas' colour, `background`, then panes and overlays by `z`: an overlay is in front
/// of the panes with the same `z`.
public struct Scene: Hashable, Codable, Sendable {
    public var canvas: Canvas
    /// Image or gradient that covers the canvas behind all panes.
    public var background: Backdrop?
    /// The panes from back to front: by `z`, then in the order in which places are assigned. A source has at most one
    /// pane.
    public var panes: [Pane]
    /// The overlays from back to front: by `z`, then in the order of the layout.
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

    /// An image or a gradient that covers the canvas.
    public struct Backdrop: Hashable, Codable, Sendable {
        /// The image's name, as in `Pane.Fallback.image`. Empty for a gradient alone.
        public var image: String
        public var fit: Pane.Fit
        /// Gradient on the canvas, behind the image; `nil` shows the canvas's colour there.
        public var gradient: Gradient?
        /// Radius in canvas pixels within which the image is blurred; `nil` shows it sharp.
        public var blur: Int?
        /// Share of black laid over the image; `nil` means none.
        public var dim: UnitFraction?

        public init(
            image: String, fit: Pane.Fit = .cover, gradient: Gradient? = nil, blur: Int? = nil,
            dim: UnitFraction? = nil
        ) {
            self.image = image
            self.fit = fit
            self.gradient = gradient
            self.blur = blur
            self.dim = dim
        }

        /// Creates a backdrop without an image.
        public init(_ gradient: Gradient) { self.init(image: "", gradient: gradient) }
    }
}
