/// A contact sheet: several scenes in one picture, each with its title below.
public struct SceneSheet: Hashable, Sendable {
    public struct Entry: Hashable, Sendable {
        /// The title below the scene, shortened to the width of its column.
        public var title: String
        public var scene: Scene

        public init(title: String, scene: Scene) {
            self.title = title
            self.scene = scene
        }
    }

    /// The scenes in reading order.
    public var entries: [Entry]

    public init(_ entries: [Entry]) { self.entries = entries }

    /// The longer side of a scene in pixels.
    private static let longerSide = 320
    private static let gap = 24
    private static let titleSize = 15
    /// The largest width of the sheet in pixels. Its shape is about 3:2.
    private static let mostWidth = 2400

    /// Returns the sheet as SVG, in as many rows as needed.
    ///
    /// - Parameters:
    ///   - images: As for `Scene.svg(images:time:)`.
    ///   - time: As for `Scene.svg(images:time:)`.
    public func svg(images: [String: String] = [:], time: Int = Scene.previewTime) -> String {
        let sizes = entries.map { Self.thumbnail(of: $0.scene.canvas) }
        let cell = (
            width: sizes.map(\.width).max() ?? Self.longerSide, height: sizes.map(\.height).max() ?? Self.longerSide
        )
        let step = (x: cell.width + Self.gap, y: cell.height + Self.gap + Self.titleSize * 2)
        let columns = columns(step)
        let rows = (max(entries.count, 1) + columns - 1) / columns
        let (width, height) = (columns * step.x + Self.gap, rows * step.y + Self.gap)
        var lines = [
            ScenePreview.definitions,
            SVG.rectangle(width: width, height: height, fill: "#F3F4F6"),
        ]
        for (index, (entry, size)) in zip(entries, sizes).enumerated() {
            let (row, column) = index.quotientAndRemainder(dividingBy: columns)
            let x = Self.gap + column * step.x + (cell.width - size.width) / 2
            let y = Self.gap + row * step.y + cell.height - size.height
            let preview = ScenePreview(scene: entry.scene, images: images, time: time)
            let title = TextLines(size: Self.titleSize, width: cell.width).shortened(entry.title)
            lines += [
                SVG.nested(
                    x: x, y: y, width: size.width, height: size.height, viewWidth: SVG.side(entry.scene.canvas.width),
                    viewHeight: SVG.side(entry.scene.canvas.height), preview.drawing),
                SVG.text(
                    title, x: x * 10 + size.width * 5, baseline: (y + size.height) * 10 + Self.titleSize * 15,
                    size: Self.titleSize, fill: RGB(red: 0x1F, green: 0x29, blue: 0x37)),
            ]
        }
        return SVG.document(width: width, height: height, lines.joined(separator: "\n") + "\n") + "\n"
    }

    /// Returns the number of columns that brings the sheet closest to its intended shape.
    private func columns(_ step: (x: Int, y: Int)) -> Int {
        let count = max(entries.count, 1)
        let most = min(max((Self.mostWidth - Self.gap) / step.x, 1), count)
        let best = (1...most).min { left, right in
            func distance(_ columns: Int) -> Int {
                let rows = (count + columns - 1) / columns
                // An incomplete last row also counts against a number of columns.
                return abs(columns * step.x * 2 - rows * step.y * 3) + (rows * columns - count) * step.x
            }
            return distance(left) < distance(right)
        }
        return best ?? 1
    }

    private static func thumbnail(of canvas: Canvas) -> (width: Int, height: Int) {
        let (width, height) = (SVG.side(canvas.width), SVG.side(canvas.height))
        let longer = max(width, height)
        return (max(width * longerSide / longer, 1), max(height * longerSide / longer, 1))
    }
}
