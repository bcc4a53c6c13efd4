import LayoutEngine

/// A mix whose panes are specified with the task and stay in place, whichever participants come and go.
public struct FixedComposition: Hashable, Codable, Sendable {
    /// Streams that are heard and may be seen; `nil` or empty means all streams of the task's room.
    public var sources: [SourceSelection]?
    /// Panes, at most `mostPanes`. They are drawn by `z`, equal ones in this order, and may overlap.
    public var panes: [FixedPane]
    /// Image under all panes; `nil` means the canvas's colour.
    public var background: FixedBackground?

    public static let mostPanes = 16
    public static let mostSources = 32

    public init(
        sources: [SourceSelection]? = nil, panes: [FixedPane] = [], background: FixedBackground? = nil
    ) {
        self.sources = sources
        self.panes = panes
        self.background = background
    }
}

/// A rectangle of a fixed composition, in fractions of the canvas.
public struct FixedPane: Hashable, Codable, Sendable {
    /// Left and top edge.
    public var x: UnitFraction
    public var y: UnitFraction
    /// Size, more than 0. Parts beyond the canvas are cut off.
    public var width: UnitFraction
    public var height: UnitFraction
    /// Stacking order; 0 is the bottom.
    public var z: Int
    /// The way in which the picture is fitted: `cover` crops; `contain` shows the whole picture on black.
    public var fit: Pane.Fit
    /// Stream to show; `nil` means the next participant, in join order, whom no other pane shows.
    public var source: SourceSelection?
    /// URL of an image shown while there is no participant, or no picture of them; `nil` means black.
    public var placeholder: String?

    /// Range of `z`.
    public static let levels = 0...1000

    public init(
        x: UnitFraction, y: UnitFraction, width: UnitFraction, height: UnitFraction, z: Int = 0,
        fit: Pane.Fit = .cover, source: SourceSelection? = nil, placeholder: String? = nil
    ) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
        self.z = z
        self.fit = fit
        self.source = source
        self.placeholder = placeholder
    }
}

/// An image that covers the canvas behind all panes.
public struct FixedBackground: Hashable, Codable, Sendable {
    public var url: String
    public var fit: Pane.Fit

    public init(url: String, fit: Pane.Fit = .cover) {
        self.url = url
        self.fit = fit
    }
}
