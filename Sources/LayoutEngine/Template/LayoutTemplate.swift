/// What an operator writes about a layout: which arrangement of panes is used when.
///
/// A template knows no pixels, so one file serves every canvas. `LayoutEngine.plan` turns it into a `Scene`;
/// `decode` reads it from JSON, `layouts/README.md` describes that language and `layouts/layout.schema.json` defines it.
public struct LayoutTemplate: Hashable, Sendable {
    /// The file's name without `.json`.
    public var name: String
    /// For people; not drawn.
    public var summary: String?
    /// Replaces what the room's canvas says, field by field.
    public var canvas: CanvasOverride
    /// The first whose condition holds is used. Where none does, the algorithm of `LayoutLibrary.automatic` is.
    public var arrangements: [Arrangement]
    /// Of the automatic arrangement. In a file also what `arrangements` begin with; here theirs are complete.
    public var settings: ArrangementSettings

    public init(
        name: String, summary: String? = nil, canvas: CanvasOverride = CanvasOverride(),
        arrangements: [Arrangement], settings: ArrangementSettings = ArrangementSettings()
    ) {
        self.name = name
        self.summary = summary
        self.canvas = canvas
        self.arrangements = arrangements
        self.settings = settings
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
    /// Covers the canvas behind all panes.
    public var backdrop: Scene.Backdrop?

    public init(
        width: Int? = nil, height: Int? = nil, fps: Int? = nil, background: RGB? = nil,
        backdrop: Scene.Backdrop? = nil
    ) {
        self.width = width
        self.height = height
        self.fps = fps
        self.background = background
        self.backdrop = backdrop
    }
}
