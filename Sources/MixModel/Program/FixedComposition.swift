import LayoutEngine

/// A mix whose panes are given with the task and stay where they are, whoever comes and goes.
public struct FixedComposition: Hashable, Codable, Sendable {
    /// Who is heard, and who may be seen; `nil` or empty = everybody in the task's room.
    public var sources: [SourceSelection]?
    /// At most `mostPanes`; drawn by `z`, equal ones in this order. May overlap.
    public var panes: [FixedPane]
    /// Under all panes; `nil` = the canvas' colour.
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

/// One rectangle of a fixed composition, in fractions of the canvas.
public struct FixedPane: Hashable, Codable, Sendable {
    /// Left and top edge.
    public var x: UnitFraction
    public var y: UnitFraction
    /// More than 0; what stands over the canvas is cut off.
    public var width: UnitFraction
    public var height: UnitFraction
    /// 0 = the bottom.
    public var z: Int
    /// `cover` crops; `contain` shows the whole picture on black.
    public var fit: Pane.Fit
    /// `nil` = the next, in the order in which people joined, whom no other pane shows.
    public var source: SourceSelection?
    /// URL of an image for while there is nobody, or no picture of them; `nil` = black.
    public var placeholder: String?

    /// Of `z`.
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
