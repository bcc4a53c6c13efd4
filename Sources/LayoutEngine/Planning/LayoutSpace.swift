/// The space of an arrangement on a canvas, and the algorithms that divide it.
///
/// All coordinates and lengths are even numbers of pixels.
struct LayoutSpace {
    /// The whole space: the canvas or a part of it.
    let area: Rectangle
    /// The area without its margin.
    let content: Rectangle
    let gap: Int
    private let orientation: Condition.Orientation

    init(_ canvas: Canvas, area: Rectangle, gap: UnitFraction, margin: UnitFraction) {
        let shorter = min(canvas.width, canvas.height)
        self.area = area
        self.gap = gap.evenPixels(of: shorter)
        content = area.inset(by: margin.evenPixels(of: shorter))
        orientation = Condition.Orientation(width: canvas.width, height: canvas.height)
    }

    private init(_ content: Rectangle, like space: LayoutSpace) {
        area = content
        self.content = content
        gap = space.gap
        orientation = space.orientation
    }

    /// Returns a rectangle for each of the first of `count` people, in their order.
    ///
    /// All rectangles are on the same level, except in a picture in picture, where the first one lies below the others.
    func divide(among count: Int, by algorithm: Algorithm) -> [Rectangle] {
        guard count > 0 else { return [] }
        return switch algorithm {
        case .solo: [content]
        case .sideBySide: sideBySide(count)
        case .pictureInPicture(let corner, let size): [area] + insets(count - 1, corner, size)
        case .grid(let tileAspect): grid(count, tileAspect)
        case .spotlight(let spotlight): self.spotlight(count, spotlight)
        case .stack(let direction): stack(count, direction)
        }
    }

    /// Returns equal columns.
    ///
    /// A column is at most 16:9 high, so that two portrait cameras on a portrait canvas are seen whole, side by side,
    /// instead of as two slices of a quarter of their width.
    private func sideBySide(_ count: Int) -> [Rectangle] {
        let (columns, gap, width) = Self.divide(content.width, into: count, gap: gap)
        let height = min(content.height, width * 16 / 9 & ~1)
        return tiles(count: columns, columns: columns, width: width, height: max(height, 2), gap: gap)
    }

    /// Returns the grid with the largest tiles.
    ///
    /// Of all numbers of columns it takes the one whose cells hold the largest rectangle of the preferred shape:
    /// `aspect`, or else 3:4 on a portrait, 4:3 on a landscape and 1:1 on a square canvas.
    private func grid(_ count: Int, _ aspect: Aspect?) -> [Rectangle] {
        var best = (area: -1, columns: 1, width: 2, height: 2, gap: 0)
        for columns in 1...count {
            let rows = (count + columns - 1) / columns
            // Fewer columns would give the same rows with wider cells.
            guard columns == 1 || rows < (count + columns - 2) / (columns - 1) else { continue }
            let across = Self.divide(content.width, into: columns, gap: gap)
            let down = Self.divide(content.height, into: rows, gap: gap)
            guard across.parts == columns, down.parts == rows else { continue }
            let cell = (width: across.length, height: down.length)
            let ideal = Self.largest(aspect ?? preferredAspect, in: cell)
            guard ideal.width * ideal.height > best.area else { continue }
            let tile = aspect == nil ? Self.limited(cell) : ideal
            best = (ideal.width * ideal.height, columns, tile.width, tile.height, min(across.gap, down.gap))
        }
        return tiles(count: count, columns: best.columns, width: best.width, height: best.height, gap: best.gap)
    }

    /// Returns small panes of the area's shape, from the corner along its vertical edge. They shrink together if they
    /// would not all fit.
    private func insets(_ count: Int, _ corner: Algorithm.Corner, _ size: UnitFraction) -> [Rectangle] {
        guard count > 0 else { return [] }
        let wanted = max(size.evenPixels(of: area.height), 2)
        let (fitting, gap, room) = Self.divide(content.height, into: count, gap: gap)
        let height = min(wanted, room)
        let width = min(max(height * area.width / area.height & ~1, 2), content.width)
        let isLeft = corner == .topLeft || corner == .bottomLeft
        let isTop = corner == .topLeft || corner == .topRight
        return (0..<fitting).map { index in
            let distance = index * (height + gap)
            return Rectangle(
                x: isLeft ? content.x : content.x + content.width - width,
                y: isTop ? content.y + distance : content.y + content.height - height - distance,
                width: width, height: height)
        }
    }

    /// Returns the large pane, then the strip's tiles: a grid at the edge. Depth that the tiles do not use goes to the
    /// large pane.
    private func spotlight(_ count: Int, _ spotlight: Algorithm.Spotlight) -> [Rectangle] {
        let edge =
            spotlight.edge == .automatic ? orientation == .landscape ? .right : .bottom : spotlight.edge
        let isRow = edge == .top || edge == .bottom
        let length = isRow ? content.height : content.width
        let others = min(count - 1, spotlight.most)
        guard others > 0, length >= 4 else { return [content] }
        let depth = min(max(spotlight.size.evenPixels(of: length), 2), length - 2)
        let strip = LayoutSpace(content.slice(edge, depth), like: self)
        let tiles = strip.grid(others, spotlight.tileAspect)
        let near = tiles.map { isRow ? $0.y : $0.x }.min() ?? 0
        let far = tiles.map { isRow ? $0.y + $0.height : $0.x + $0.width }.max() ?? 0
        let origin = isRow ? strip.content.y : strip.content.x
        // The grid centres the tiles in the strip; this moves them to the edge.
        let shift = edge == .top || edge == .left ? origin - near : origin + depth - far
        let free = length - (far - near)
        let main = content.slice(edge.opposite, free - gap >= 2 ? free - gap : free)
        return [main]
            + tiles.map {
                Rectangle(
                    x: isRow ? $0.x : $0.x + shift, y: isRow ? $0.y + shift : $0.y, width: $0.width, height: $0.height)
            }
    }

    /// Returns equal parts from edge to edge of the content.
    private func stack(_ count: Int, _ direction: Algorithm.Direction) -> [Rectangle] {
        let isVertical = direction == .vertical
        let (parts, gap, length) = Self.divide(isVertical ? content.height : content.width, into: count, gap: gap)
        return tiles(
            count: parts, columns: isVertical ? 1 : parts, width: isVertical ? content.width : length,
            height: isVertical ? length : content.height, gap: gap)
    }

    private var preferredAspect: Aspect {
        switch orientation {
        case .landscape: .fourToThree
        case .portrait: .threeToFour
        case .square: .square
        }
    }
}

// MARK: - Arithmetic
extension LayoutSpace {
    /// Returns `count` tiles of one size in rows. The block is centred in the content, and so is a short last row.
    private func tiles(count: Int, columns: Int, width: Int, height: Int, gap: Int) -> [Rectangle] {
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

    /// Returns half of the free pixels, as an even number.
    private static func lead(_ free: Int) -> Int { max(free, 0) / 4 * 2 }

    /// Divides a length into equal even parts of at least 2 pixels.
    ///
    /// The gap is dropped if it would leave less than half of the length to the parts. If there are not 2 pixels for
    /// each part, there are fewer parts.
    private static func divide(_ length: Int, into parts: Int, gap: Int) -> (parts: Int, gap: Int, length: Int) {
        let count = max(1, min(parts, length / 2))
        let gaps = gap * (count - 1)
        let gap = gaps * 2 <= length && length - gaps >= count * 2 ? gap : 0
        return (count, gap, (length - gap * (count - 1)) / count & ~1)
    }

    /// Returns the largest even rectangle of about this shape.
    private static func largest(
        _ aspect: Aspect, in cell: (width: Int, height: Int)
    ) -> (width: Int, height: Int) {
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

extension Rectangle {
    /// Returns the part of this depth at an edge.
    fileprivate func slice(_ edge: Algorithm.Spotlight.Edge, _ depth: Int) -> Rectangle {
        switch edge {
        case .top: Rectangle(x: x, y: y, width: width, height: depth)
        case .bottom, .automatic: Rectangle(x: x, y: y + height - depth, width: width, height: depth)
        case .left: Rectangle(x: x, y: y, width: depth, height: height)
        case .right: Rectangle(x: x + width - depth, y: y, width: depth, height: height)
        }
    }
}

extension Algorithm.Spotlight.Edge {
    fileprivate var opposite: Self {
        switch self {
        case .top: .bottom
        case .bottom, .automatic: .top
        case .left: .right
        case .right: .left
        }
    }
}
