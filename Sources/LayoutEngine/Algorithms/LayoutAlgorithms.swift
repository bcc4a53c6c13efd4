/// The algorithms that a layout file can name.
enum LayoutAlgorithms {
    static let all: [any LayoutAlgorithm.Type] = [
        SoloAlgorithm.self,
        SideBySideAlgorithm.self,
        PictureInPictureAlgorithm.self,
        GridAlgorithm.self,
        MosaicAlgorithm.self,
        SpotlightAlgorithm.self,
        StackAlgorithm.self,
    ]

    static let names = all.map { $0.name }

    /// Keys of all algorithms, each listed once.
    static let keys = all.flatMap { $0.keys.map(\.name) }.reduce(into: [String]()) { keys, key in
        if !keys.contains(key) { keys.append(key) }
    }

    static func named(_ name: String) -> (any LayoutAlgorithm.Type)? { all.first { $0.name == name } }
}
