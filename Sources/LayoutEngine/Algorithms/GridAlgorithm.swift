/// Rows and columns with the largest tiles, the last row centred.
struct GridAlgorithm: LayoutAlgorithm {
    static let name = "grid"
    static let summary = "rows and columns with the largest tiles"
    static let keys = [AlgorithmKey.tileAspect]

    /// Shape of the tiles; `nil` lets them fill their cells between 9:16 and 16:9.
    var tileAspect: Aspect?

    init(tileAspect: Aspect?) { self.tileAspect = tileAspect }

    init(_ reader: inout JSONObjectReader, issues: inout [LayoutIssue]) {
        tileAspect = reader.aspect("tileAspect", issues: &issues)
    }

    func rectangles(among count: Int, in space: LayoutSpace) -> [Rectangle] { space.grid(count, tileAspect) }
}

extension Algorithm {
    /// Rows and columns with the largest tiles, the last row centred. With `tileAspect` tiles have that shape;
    /// otherwise they fill their cells between 9:16 and 16:9.
    public static func grid(tileAspect: Aspect?) -> Algorithm { Algorithm(GridAlgorithm(tileAspect: tileAspect)) }
}
