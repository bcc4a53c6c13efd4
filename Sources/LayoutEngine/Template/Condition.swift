/// When an arrangement is used: all parts must hold.
public struct Condition: Hashable, Sendable {
    /// How many panes people need: a camera and a screen of one person are two. More than `LayoutEngine.mostPanes`
    /// count too.
    public var people: ClosedRange<Int>
    /// How many hosts are among them, each once.
    public var hosts: ClosedRange<Int>
    /// How many guests are among them, each once.
    public var guests: ClosedRange<Int>
    /// How many people have no picture, whether they get a pane for it or not.
    public var audioOnly: ClosedRange<Int>
    /// Whether a screen is shared; `nil` = either.
    public var screen: Bool?
    /// `nil` = any.
    public var canvas: Orientation?
    /// `nil` = any.
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

    public enum Orientation: String, Hashable, Sendable, CaseIterable {
        case portrait, landscape, square

        init(width: Int, height: Int) {
            self = width > height ? .landscape : width < height ? .portrait : .square
        }
    }

    /// What the pictures that are there have in common. A picture that is square or of unknown size counts as one of
    /// the canvas' orientation, and so does a room without pictures; on a square canvas that is landscape.
    public enum SourceShape: String, Hashable, Sendable, CaseIterable {
        case portrait, landscape, mixed
    }

    func holds(in situation: Situation) -> Bool {
        people.contains(situation.people) && hosts.contains(situation.hosts) && guests.contains(situation.guests)
            && audioOnly.contains(situation.audioOnly) && screen ?? situation.hasScreen == situation.hasScreen
            && canvas ?? situation.canvas == situation.canvas && sources ?? situation.sources == situation.sources
    }
}

/// What conditions ask about a room; the words are those of `Condition`.
struct Situation: Hashable {
    var people: Int
    var hosts: Int
    var guests: Int
    var audioOnly: Int
    var hasScreen: Bool
    var canvas: Condition.Orientation
    var sources: Condition.SourceShape
}
