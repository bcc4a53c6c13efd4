/// A rule that divides a space among people, with the settings that an arrangement gives it.
///
/// An algorithm is one type in one file. `LayoutAlgorithms.all` lists it; the decoder, the planner, the schema, the
/// table in `layouts/README.md` and the tests derive everything from that list.
protocol LayoutAlgorithm: Hashable, Sendable {
    /// The word in a layout file, such as `side-by-side`.
    static var name: String { get }
    /// One line for the schema and for `layouts/README.md`: a description of the arrangement, without a full stop.
    static var summary: String { get }
    /// The keys of the algorithm in a layout file, in the order in which they are explained.
    static var keys: [AlgorithmKey] { get }

    /// Creates the algorithm from the values of its keys. Reads each of `keys`; a wrong value adds an issue and counts
    /// as absent.
    init(_ reader: inout JSONObjectReader, issues: inout [LayoutIssue])

    /// Returns a rectangle for each of the first of `count` people, in their order.
    ///
    /// The rectangles have even coordinates and lengths of at least 2 pixels, and lie in the area of the space. Those on
    /// the same level do not overlap.
    ///
    /// - Parameter count: The number of people, at least 1.
    func rectangles(among count: Int, in space: LayoutSpace) -> [Rectangle]

    /// The number of levels on which rectangles overlap, 1 or 2. The default is 1.
    static var levels: Int { get }

    /// Returns the level of the rectangle at an index, less than `levels`. Higher is nearer to the viewer. The default
    /// is 0.
    func level(of index: Int) -> Int
}

extension LayoutAlgorithm {
    static var levels: Int { 1 }

    func level(of index: Int) -> Int { 0 }
}
