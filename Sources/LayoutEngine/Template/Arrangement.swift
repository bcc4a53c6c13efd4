/// One way to place people, and when it is used.
public struct Arrangement: Hashable, Sendable {
    public var when: Condition
    public var placement: Placement
    public var settings: ArrangementSettings

    public init(when: Condition = .always, placement: Placement, settings: ArrangementSettings = ArrangementSettings())
    {
        self.when = when
        self.placement = placement
        self.settings = settings
    }

    /// How people are put on the canvas.
    public enum Placement: Hashable, Sendable {
        /// By rule; `featured` says who takes the first place, if they are there.
        case algorithm(Algorithm, featured: StreamSelector? = nil)
        /// Rectangles that the operator wrote, and what becomes of people whom none of them shows: without `rest` they
        /// are heard and not seen.
        case panes([PaneTemplate], rest: Rest? = nil)

        public static let solo = Placement.algorithm(.solo)
        public static let sideBySide = Placement.algorithm(.sideBySide)
        public static func pictureInPicture(corner: Algorithm.Corner, size: UnitFraction) -> Placement {
            .algorithm(.pictureInPicture(corner: corner, size: size))
        }
        public static func grid(tileAspect: Aspect?) -> Placement { .algorithm(.grid(tileAspect: tileAspect)) }
        public static func spotlight(_ spotlight: Algorithm.Spotlight) -> Placement {
            .algorithm(.spotlight(spotlight))
        }
        public static func stack(_ direction: Algorithm.Direction) -> Placement { .algorithm(.stack(direction)) }
    }

    /// A part of the canvas that an algorithm divides among the people whom no pane of one's own shows.
    public struct Rest: Hashable, Sendable {
        public var area: Area
        /// Of the panes; small ones of a picture in picture lie one above.
        public var z: Int
        public var algorithm: Algorithm
        /// Who takes the first place.
        public var featured: StreamSelector?
        /// `style`, `gap` and `margin` (inside `area`) of these panes; the others are the arrangement's.
        public var settings: ArrangementSettings

        public init(
            area: Area, z: Int = 0, algorithm: Algorithm, featured: StreamSelector? = nil,
            settings: ArrangementSettings = ArrangementSettings()
        ) {
            self.area = area
            self.z = z
            self.algorithm = algorithm
            self.featured = featured
            self.settings = settings
        }
    }
}
