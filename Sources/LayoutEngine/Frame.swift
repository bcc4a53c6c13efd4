/// In whole pixels.
struct Rectangle: Hashable {
    var x: Int
    var y: Int
    var width: Int
    var height: Int
}

extension Rectangle {
    /// `nil` when the pane is too small for a single chroma sample of this canvas.
    init?(_ pane: PaneTemplate, on canvas: Canvas) {
        x = pane.x.evenPixels(of: canvas.width)
        y = pane.y.evenPixels(of: canvas.height)
        let right = UnitFraction.evenPixels(millionths: pane.x.millionths + pane.width.millionths, of: canvas.width)
        let bottom = UnitFraction.evenPixels(
            millionths: pane.y.millionths + pane.height.millionths, of: canvas.height)
        width = min(right, canvas.width) - x
        height = min(bottom, canvas.height) - y
        guard width >= 2, height >= 2 else { return nil }
    }
}

/// The space that an arrangement has on a canvas, and the algorithms that divide it. Everything is even.
struct Frame {
    /// The canvas without its margin.
    let content: Rectangle
    let canvas: Canvas
    let gap: Int

    init(_ canvas: Canvas, _ arrangement: Arrangement) {
        let shorter = min(canvas.width, canvas.height)
        self.canvas = canvas
        gap = arrangement.gap.evenPixels(of: shorter)
        // A margin of a quarter leaves half of the shorter side, at least 8 pixels.
        let margin = min(arrangement.margin.evenPixels(of: shorter), shorter / 4 & ~1)
        content = Rectangle(
            x: margin, y: margin, width: canvas.width - margin * 2, height: canvas.height - margin * 2)
    }

    /// Equal columns. A column is at most 16:9 high, so that on a portrait canvas two portrait cameras are seen
    /// whole, side by side, instead of as two slices of a quarter of their width.
    func sideBySide(_ count: Int) -> [Rectangle] {
        let (columns, gap, width) = Self.divide(content.width, into: count, gap: gap)
        let height = min(content.height, width * 16 / 9 & ~1)
        return tiles(count: columns, columns: columns, width: width, height: max(height, 2), gap: gap)
    }

    /// The largest tiles: of all numbers of columns the one whose cells hold the largest rectangle of the preferred
    /// shape, which is 3:4 on a portrait and 4:3 on a landscape canvas unless `aspect` says otherwise.
    func grid(_ count: Int, _ aspect: Aspect?) -> [Rectangle] {
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

    /// Small panes of the canvas' shape, from the corner along its vertical edge; they shrink together when they
    /// would not all fit.
    func insets(_ count: Int, _ corner: Arrangement.Corner, _ size: UnitFraction) -> [Rectangle] {
        guard count > 0 else { return [] }
        let wanted = max(size.evenPixels(of: canvas.height), 2)
        let (fitting, gap, room) = Self.divide(content.height, into: count, gap: gap)
        let height = min(wanted, room)
        let width = min(max(height * canvas.width / canvas.height & ~1, 2), content.width)
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

    private var preferredAspect: Aspect {
        canvas.width > canvas.height
            ? .fourToThree : canvas.width < canvas.height ? .threeToFour : .square
    }
}

// MARK: - Arithmetic
extension Frame {
    /// `count` tiles of one size in rows, the block in the middle of the content and a short last row in the middle.
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

    /// Half of the free pixels, even.
    private static func lead(_ free: Int) -> Int { max(free, 0) / 4 * 2 }

    /// Equal even parts of at least 2 pixels. The gap gives way when it would leave less than half of the length to
    /// the parts; where not even 2 pixels are left for each, there are fewer parts.
    private static func divide(_ length: Int, into parts: Int, gap: Int) -> (parts: Int, gap: Int, length: Int) {
        let count = max(1, min(parts, length / 2))
        let gaps = gap * (count - 1)
        let gap = gaps * 2 <= length && length - gaps >= count * 2 ? gap : 0
        return (count, gap, (length - gap * (count - 1)) / count & ~1)
    }

    /// The largest even rectangle of about this shape.
    private static func largest(
        _ aspect: Aspect, in cell: (width: Int, height: Int)
    ) -> (width: Int, height: Int) {
        let width = min(cell.width, cell.height * aspect.width / aspect.height & ~1)
        let height = min(cell.height, cell.width * aspect.height / aspect.width & ~1)
        return (max(width, 2), max(height, 2))
    }

    /// The cell itself, cut where it is narrower than 9:16 or wider than 16:9.
    private static func limited(_ cell: (width: Int, height: Int)) -> (width: Int, height: Int) {
        (
            max(2, min(cell.width, cell.height * 16 / 9 & ~1)),
            max(2, min(cell.height, cell.width * 16 / 9 & ~1))
        )
    }
}
