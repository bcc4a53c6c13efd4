/// The first person fills the area; the others are small, stacked from a corner.
public struct PictureInPictureAlgorithm: Hashable, Sendable {
    /// The corner of the small panes; the raw value is the word in a file.
    public enum Corner: String, Hashable, Sendable, CaseIterable {
        case topLeft = "top-left"
        case topRight = "top-right"
        case bottomLeft = "bottom-left"
        case bottomRight = "bottom-right"
    }

    public var corner = Corner.bottomRight
    /// The small pane's share of the area's width and height.
    public var size = UnitFraction(0.3)
}

extension PictureInPictureAlgorithm: LayoutAlgorithm {
    private static let sizes = 0.05...0.5

    static let name = "picture-in-picture"
    static let summary = "the first participant fills the canvas, others small in a corner"
    static let keys = [
        AlgorithmKey.words("corner", default: Self().corner, "the corner in which the small panes begin"),
        .number("size", in: sizes, default: Self().size, "the small pane's share of both sides"),
    ]

    init(_ reader: inout JSONObjectReader, issues: inout [LayoutIssue]) {
        self.init()
        if let corner = reader.choice("corner", of: Corner.self, issues: &issues) { self.corner = corner }
        if let size = reader.fraction("size", in: Self.sizes, issues: &issues) { self.size = size }
    }

    /// Returns the area, then small rectangles of its shape from the corner along its vertical edge. They shrink together
    /// if they would not all fit.
    func rectangles(among count: Int, in space: LayoutSpace) -> [Rectangle] {
        let (area, content) = (space.area, space.content)
        guard count > 1 else { return [area] }
        let wanted = max(size.evenPixels(of: area.height), 2)
        let (fitting, gap, room) = space.divide(content.height, into: count - 1)
        let height = min(wanted, room)
        let width = min(max(height * area.width / area.height & ~1, 2), content.width)
        let isLeft = corner == .topLeft || corner == .bottomLeft
        let isTop = corner == .topLeft || corner == .topRight
        return [area]
            + (0..<fitting).map { index in
                let distance = index * (height + gap)
                return Rectangle(
                    x: isLeft ? content.x : content.x + content.width - width,
                    y: isTop ? content.y + distance : content.y + content.height - height - distance,
                    width: width, height: height)
            }
    }

    static var levels: Int { 2 }

    func level(of index: Int) -> Int { min(index, 1) }
}

extension Algorithm {
    /// The first person fills the area; the others are small, stacked from a corner. `size` is the small pane's share of
    /// the area's width and height.
    public static func pictureInPicture(corner: PictureInPictureAlgorithm.Corner, size: UnitFraction) -> Algorithm {
        Algorithm(PictureInPictureAlgorithm(corner: corner, size: size))
    }
}
