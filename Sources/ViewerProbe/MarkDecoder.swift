import LayoutEngine

/// The position of a source's picture in the program's picture.
struct Placement: Hashable, Sendable {
    /// The part of the program's picture that shows the source.
    var area: PixelRectangle
    /// Size of the source's own picture.
    var sourceWidth: Int
    var sourceHeight: Int
    var fit: Pane.Fit
    /// The place of the mark in the source's picture.
    var mark = MarkGeometry.Place.centre

    /// Program pixels per source pixel.
    var scale: (x: Double, y: Double) {
        let x = Double(area.width) / Double(sourceWidth)
        let y = Double(area.height) / Double(sourceHeight)
        switch fit {
        case .stretch: return (x, y)
        case .cover: return (max(x, y), max(x, y))
        case .contain: return (min(x, y), min(x, y))
        }
    }
}

/// The mark, flash and colour of one source, read in one picture.
struct MarkReading: Hashable, Sendable {
    var mark: SourceMark
    /// Whether the flash patch is white.
    var isFlashing: Bool
    /// The source's plain colour.
    var colour: ColourSample
}

/// Reads source marks in decoded pictures.
enum MarkDecoder {
    /// Smallest difference in level between the darkest and the brightest cell of a mark, of 255.
    static let leastContrast = 80.0
    /// Largest distance of a cell from black or white, as a fraction of their difference.
    static let greatestBlur = 0.35

    /// Returns the mark at `placement`; `nil` if there is none, or not a single clear one (torn, blurred, between two
    /// pictures).
    static func read(_ picture: Picture, at placement: Placement) -> MarkReading? {
        let geometry = MarkGeometry(
            width: placement.sourceWidth, height: placement.sourceHeight, place: placement.mark)
        let scale = placement.scale
        let area = placement.area
        let left = Double(area.x) + (Double(area.width) - scale.x * Double(placement.sourceWidth)) / 2
        let top = Double(area.y) + (Double(area.height) - scale.y * Double(placement.sourceHeight)) / 2

        /// Returns the middle half of an area of the source, in program pixels.
        func inner(_ area: PixelRectangle) -> (x: Double, y: Double, width: Double, height: Double) {
            (
                left + scale.x * (Double(area.x) + Double(area.width) / 4),
                top + scale.y * (Double(area.y) + Double(area.height) / 4),
                max(1, scale.x * Double(area.width) / 2), max(1, scale.y * Double(area.height) / 2)
            )
        }

        var levels: [Double] = []
        for index in 0..<SourceMark.side * SourceMark.side {
            let cell = inner(
                PixelRectangle(
                    x: geometry.mark.x + index % SourceMark.side * geometry.cell,
                    y: geometry.mark.y + index / SourceMark.side * geometry.cell,
                    width: geometry.cell, height: geometry.cell))
            guard let level = picture.meanLuma(x: cell.x, y: cell.y, width: cell.width, height: cell.height) else {
                return nil
            }
            levels.append(level)
        }
        guard let black = levels.min(), let white = levels.max(), white - black >= leastContrast else { return nil }
        let positions = levels.map { ($0 - black) / (white - black) }
        guard positions.allSatisfy({ $0 < greatestBlur || $0 > 1 - greatestBlur }) else { return nil }
        guard let mark = SourceMark(cells: positions.map { $0 > 0.5 }) else { return nil }
        let flash = inner(geometry.flash)
        let colour = inner(geometry.colour)
        guard
            let flashLevel = picture.meanLuma(x: flash.x, y: flash.y, width: flash.width, height: flash.height),
            let plain = picture.meanColour(x: colour.x, y: colour.y, width: colour.width, height: colour.height)
        else { return nil }
        return MarkReading(mark: mark, isFlashing: flashLevel > (black + white) / 2, colour: plain)
    }
}
