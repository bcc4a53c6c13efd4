/// Equal parts that fill the content, stacked or side by side.
public struct StackAlgorithm: Hashable, Sendable {
    public enum Direction: String, Hashable, Sendable, CaseIterable {
        case vertical, horizontal
    }

    public var direction = Direction.vertical
}

extension StackAlgorithm: LayoutAlgorithm {
    static let name = "stack"
    static let summary = "equal parts that fill the canvas, one below or beside the other"
    static let keys = [
        AlgorithmKey.words("direction", default: Self().direction, "one below the other, or side by side")
    ]

    init(_ reader: inout JSONObjectReader, issues: inout [LayoutIssue]) {
        self.init()
        if let direction = reader.choice("direction", of: Direction.self, issues: &issues) {
            self.direction = direction
        }
    }

    func rectangles(among count: Int, in space: LayoutSpace) -> [Rectangle] {
        let content = space.content
        let isVertical = direction == .vertical
        let (parts, gap, length) = space.divide(isVertical ? content.height : content.width, into: count)
        return space.tiles(
            count: parts, columns: isVertical ? 1 : parts, width: isVertical ? content.width : length,
            height: isVertical ? length : content.height, gap: gap)
    }
}

extension Algorithm {
    /// Equal parts that fill the content, stacked or side by side.
    public static func stack(_ direction: StackAlgorithm.Direction) -> Algorithm {
        Algorithm(StackAlgorithm(direction: direction))
    }
}
