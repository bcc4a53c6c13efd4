/// A way to place people, and the condition under which it is used.
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

    /// The placement of people on the canvas.
    public enum Placement: Hashable, Sendable {
        /// An algorithm. `featured` selects the participant who takes the first place, if present.
        case algorithm(Algorithm, featured: StreamSelector? = nil)
        /// Rectangles written by the operator. People whom none of them shows go to `rest`; without `rest` they are
        /// heard but not seen.
        case panes([PaneTemplate], rest: Rest? = nil)
    }

    /// A part of the canvas that an algorithm divides among the people whom no explicit pane shows.
    public struct Rest: Hashable, Sendable {
        public var area: Area
        /// Position of the panes in the stack. Panes on higher levels of the algorithm are higher.
        public var z: Int
        public var algorithm: Algorithm
        /// Selects the participant who takes the first place.
        public var featured: StreamSelector?
        /// Settings of these panes: `style`, `gap` and `margin` (inside `area`) apply, all others are the
        /// arrangement's.
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
