/// The space that an algorithm divides, and the arithmetic for it.
///
/// All coordinates and lengths are even numbers of pixels.
struct LayoutSpace {
    /// The whole space: the canvas or a part of it.
    let area: Rectangle
    /// The area without its margin.
    let content: Rectangle
    /// Distance between neighbouring panes.
    let gap: Int
    /// Orientation of the canvas.
    let orientation: Orientation

    init(_ canvas: Canvas, area: Rectangle, gap: UnitFraction, margin: UnitFraction) {
        let shorter = min(canvas.width, canvas.height)
        self.area = area
        self.gap = gap.evenPixels(of: shorter)
        content = area.inset(by: margin.evenPixels(of: shorter))
        orientation = Orientation(width: canvas.width, height: canvas.height)
    }

    private init(_ content: Rectangle, like space: LayoutSpace) {
        area = content
        self.content = content
        gap = space.gap
        orientation = space.orientation
    }

    /// Returns a part of the space, without a margin.
    func part(_ content: Rectangle) -> LayoutSpace { LayoutSpace(content, like: self) }

    /// Returns the grid with the largest tiles.
    ///
    /// Of all numbers of columns it chooses the one whose cells hold the largest rectangle of the preferred shape:
    /// `aspect`, or else 3:4 on a portrait, 4:3 on a landscape and 1:1 on a square canvas.
    func grid(_ count: Int, _ aspect: Aspect?) -> [Rectangle] {
        var best = (area: -1, columns: 1, width: 2, height: 2, gap: 0)
        for columns in 1...count {
            let rows = (count + columns - 1) / columns
            // Fewer columns would give the same rows with wider cells.
            guard columns == 1 || rows < (count + columns - 2) / (columns - 1) else { continue }
            let across = divide(content.width, into: columns)
            let down = divide(content.height, into: rows)
            guard across.parts == columns, down.parts == rows else { continue }
            let cell = (width: across.length, height: down.length)
            let ideal = Self.largest(aspect ?? preferredAspect, in: cell)
            guard ideal.width * ideal.height > best.area else { continue }
            let tile = aspect == nil ? Self.limited(cell) : ideal
            best = (ideal.width * ideal.height, columns, tile.width, tile.height, min(across.gap, down.gap))
        }
        return tiles(count: count, columns: best.columns, width: best.width, height: best.height, gap: best.gap)
    }

    /// Returns the number of pixels in the largest rectangle of a camera's usual shape that fits into a pane.
    func visibleArea(of pane: Rectangle) -> Int {
        let ideal = Self.largest(preferredAspect, in: (pane.width, pane.height))
        return ideal.width * ideal.height
    }

    private var preferredAspect: Aspect {
        switch orientation {
        case .landscape: .fourToThree
        case .portrait: .threeToFour
        case .square: .square
        }
    }

    /// Returns `count` tiles of one size in rows. The block is centred in the content, and so is a short last row.
    func tiles(count: Int, columns: Int, width: Int, height: Int, gap: Int) -> [Rectangle] {
        let rows = (count + columns - 1) / columns
        let top = content.y + Self.lead(content.height - rows * height - (rows - 1) * gap)
        return (0..<count).map { index in
            let (row, column) = index.quotientAndRemainder(dividingBy: columns)
            let inRow = min(columns, count - row * columns)
            let left = content.x + Self.lead(content.width - inRow * width - (inRow - 1) * gap)
            return Rectangle(
                x: left + column * (width + gap), y: top + row * (height + gap), width: width, height: height)
        }
    }

    /// Divides a length into equal even parts of at least 2 pixels.
    ///
    /// The gap is dropped if it would leave less than half of the length to the parts. If there are not 2 pixels for
    /// each part, there are fewer parts.
    func divide(_ length: Int, into parts: Int) -> (parts: Int, gap: Int, length: Int) {
        let count = max(1, min(parts, length / 2))
        let gaps = gap * (count - 1)
        let gap = gaps * 2 <= length && length - gaps >= count * 2 ? gap : 0
        return (count, gap, (length - gap * (count - 1)) / count & ~1)
    }

    /// Returns half of the free pixels, as an even number.
    private static func lead(_ free: Int) -> Int { max(free, 0) / 4 * 2 }

    /// Returns the largest even rectangle of approximately this shape.
    private static func largest(_ aspect: Aspect, in cell: (width: Int, height: Int)) -> (width: Int, height: Int) {
        let width = min(cell.width, cell.height * aspect.width / aspect.height & ~1)
        let height = min(cell.height, cell.width * aspect.height / aspect.width & ~1)
        return (max(width, 2), max(height, 2))
    }

    /// Returns the cell, cut if it is narrower than 9:16 or wider than 16:9.
    private static func limited(_ cell: (width: Int, height: Int)) -> (width: Int, height: Int) {
        (
            max(2, min(cell.width, cell.height * 16 / 9 & ~1)),
            max(2, min(cell.height, cell.width * 16 / 9 & ~1))
        )
    }
}
