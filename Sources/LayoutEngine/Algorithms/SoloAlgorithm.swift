/// The first person alone.
struct SoloAlgorithm: LayoutAlgorithm {
    static let name = "solo"
    static let summary = "the first participant alone"
    static let keys: [AlgorithmKey] = []

    init() {}

    init(_ reader: inout JSONObjectReader, issues: inout [LayoutIssue]) {}

    func rectangles(among count: Int, in space: LayoutSpace) -> [Rectangle] { [space.content] }
}

extension Algorithm {
    /// The first person alone.
    public static let solo = Algorithm(SoloAlgorithm())
}
