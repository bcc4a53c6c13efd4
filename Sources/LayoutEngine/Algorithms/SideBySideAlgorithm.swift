/// A row of equal columns, centred vertically.
///
/// A column is at most 16:9 high. Two portrait cameras on a portrait canvas are therefore shown whole, side by side,
/// instead of cropped to a quarter of their width.
struct SideBySideAlgorithm: LayoutAlgorithm {
    static let name = "side-by-side"
    static let summary = "equal columns, none narrower than 9:16"
    static let keys: [AlgorithmKey] = []

    init() {}

    init(_ reader: inout JSONObjectReader, issues: inout [LayoutIssue]) {}

    func rectangles(among count: Int, in space: LayoutSpace) -> [Rectangle] {
        let (columns, gap, width) = space.divide(space.content.width, into: count)
        let height = min(space.content.height, width * 16 / 9 & ~1)
        return space.tiles(count: columns, columns: columns, width: width, height: max(height, 2), gap: gap)
    }
}

extension Algorithm {
    /// A row of equal columns, none narrower than 9:16, centred vertically.
    public static let sideBySide = Algorithm(SideBySideAlgorithm())
}
