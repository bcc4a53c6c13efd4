/// The condition under which an arrangement is used. All parts must hold.
public struct Condition: Hashable, Sendable {
    /// Number of panes that people need. A camera and a screen of one user count as two. Panes beyond
    /// `LayoutLimits.mostPanes` also count.
    public var people: ClosedRange<Int>
    /// Number of hosts among them, each counted once.
    public var hosts: ClosedRange<Int>
    /// Number of guests among them, each counted once.
    public var guests: ClosedRange<Int>
    /// Number of people without a picture, whether or not they get a pane.
    public var audioOnly: ClosedRange<Int>
    /// Whether a screen is shared; `nil` = irrelevant.
    public var screen: Bool?
    /// Orientation of the canvas; `nil` = any.
    public var canvas: Orientation?
    /// Shape of the sources; `nil` = any.
    public var sources: SourceShape?

    public init(
        people: ClosedRange<Int> = Self.any, hosts: ClosedRange<Int> = Self.any,
        guests: ClosedRange<Int> = Self.any, audioOnly: ClosedRange<Int> = Self.any, screen: Bool? = nil,
        canvas: Orientation? = nil, sources: SourceShape? = nil
    ) {
        self.people = people
        self.hosts = hosts
        self.guests = guests
        self.audioOnly = audioOnly
        self.screen = screen
        self.canvas = canvas
        self.sources = sources
    }

    public static let any = 0...Int.max
    public static let always = Condition()

    /// The common shape of a room's pictures.
    ///
    /// A picture that is square or of unknown size counts as having the canvas' orientation, and so does a room without
    /// pictures. On a square canvas that is landscape.
    public enum SourceShape: String, Hashable, Sendable, CaseIterable {
        case portrait, landscape, mixed
    }

    func holds(in situation: Situation) -> Bool {
        people.contains(situation.people) && hosts.contains(situation.hosts) && guests.contains(situation.guests)
            && audioOnly.contains(situation.audioOnly) && screen ?? situation.hasScreen == situation.hasScreen
            && canvas ?? situation.canvas == situation.canvas && sources ?? situation.sources == situation.sources
    }
}

/// The facts of a room that conditions test, named as in `Condition`.
struct Situation: Hashable {
    var people: Int
    var hosts: Int
    var guests: Int
    var audioOnly: Int
    var hasScreen: Bool
    var canvas: Orientation
    var sources: Condition.SourceShape
}
