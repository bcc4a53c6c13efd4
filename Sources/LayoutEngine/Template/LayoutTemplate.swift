/// A layout as written by an operator: arrangements of panes, and the conditions under which they are used.
///
/// A template contains no pixels, so one file serves every canvas. `decode` reads it from JSON, and `LayoutEngine.plan`
/// turns it into a `Scene`. `layouts/README.md` describes the language and `layouts/layout.schema.json` defines it.
public struct LayoutTemplate: Hashable, Sendable {
    /// The file's name without `.json`.
    public var name: String
    /// Description for human readers; not drawn.
    public var summary: String?
    /// Fields that replace those of the room's canvas, one by one.
    public var canvas: CanvasOverride
    /// The arrangements. The first one whose condition holds is used. If none does, the algorithm of
    /// `LayoutTemplate.automatic` is used.
    public var arrangements: [Arrangement]
    /// Settings of the automatic arrangement. In a file they are also the defaults of `arrangements`; here each
    /// arrangement has complete settings.
    public var settings: ArrangementSettings
    /// The message while no participant is on air.
    public var slate: SlateTemplate
    /// The values that an operator may change, in the order of the file; `applying(_:)` changes them.
    public internal(set) var parameters: [LayoutParameter]
    /// The values of the parameters, by name.
    public internal(set) var values: [String: LayoutParameter.Value] = [:]
    /// The values of a program that the texts of its overlays show.
    public private(set) var shownValues: LayoutValues.Names
    /// The file of a template with parameters; `nil` for one without.
    var source: [UInt8]?

    public init(
        name: String, summary: String? = nil, canvas: CanvasOverride = CanvasOverride(),
        arrangements: [Arrangement], settings: ArrangementSettings = ArrangementSettings(),
        parameters: [LayoutParameter] = [], slate: SlateTemplate = SlateTemplate()
    ) {
        self.slate = slate
        self.parameters = parameters
        self.name = name
        self.summary = summary
        self.canvas = canvas
        self.arrangements = arrangements
        self.settings = settings
        shownValues = arrangements.reduce(settings.shownValues) { $0.union($1.settings.shownValues) }
    }

    /// Returns the canvas of a program whose room asks for `room`. The template's own fields take precedence, except that
    /// the built-in layout leaves a room its background.
    public func canvas(over room: Canvas) -> Canvas {
        Canvas(
            width: canvas.width ?? room.width, height: canvas.height ?? room.height, fps: canvas.fps ?? room.fps,
            background: leavesBackground(of: room) ? room.background : canvas.background ?? room.background)
    }

    /// Returns the picture behind all panes of a program whose room asks for `room`; `nil` for the canvas's colour alone.
    func ground(over room: Canvas) -> Scene.Backdrop? {
        leavesBackground(of: room) ? nil : canvas.ground(on: canvas(over: room).withinLimits)
    }

    /// Returns whether the room's background is shown in place of the template's. A room gets the built-in layout without
    /// asking, so a colour that was chosen stays. Black is the default, and counts as not chosen.
    private func leavesBackground(of room: Canvas) -> Bool {
        room.background != .black && name == Self.automaticName
    }
}

extension ArrangementSettings {
    fileprivate var shownValues: LayoutValues.Names {
        overlays.reduce([]) { names, overlay in
            guard overlay.hasNames, case .text(let text, _) = overlay.content else { return names }
            return names.union(LayoutValues.Names(in: text))
        }
    }
}

/// The part of a canvas that a template fixes. `nil` leaves a field to the room.
public struct CanvasOverride: Hashable, Sendable {
    public var width: Int?
    public var height: Int?
    public var fps: Int?
    public var background: RGB?
    /// Gradient that covers the canvas behind the image and all panes.
    public var gradient: Gradient?
    /// Image that covers the canvas behind all panes; its own `blur` is not used.
    public var backdrop: Scene.Backdrop?
    /// Radius within which the image is blurred, as a share of the canvas' shorter side, 0…0.1; `nil` shows it sharp.
    public var blur: UnitFraction?

    public init(
        width: Int? = nil, height: Int? = nil, fps: Int? = nil, background: RGB? = nil,
        backdrop: Scene.Backdrop? = nil, gradient: Gradient? = nil, blur: UnitFraction? = nil
    ) {
        self.blur = blur
        self.gradient = gradient
        self.width = width
        self.height = height
        self.fps = fps
        self.background = background
        self.backdrop = backdrop
    }

    /// Returns the picture behind all panes: the image over the gradient, either of the two, or none.
    func ground(on canvas: Canvas) -> Scene.Backdrop? {
        var ground = backdrop
        if let gradient {
            ground = ground ?? Scene.Backdrop(gradient)
            ground?.gradient = gradient
        }
        if backdrop != nil, let blur { ground?.blur = blur.pixels(of: min(canvas.width, canvas.height)) }
        return ground
    }
}
