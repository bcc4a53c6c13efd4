/// A rectangle in pixels.
public struct PixelRectangle: Hashable, Codable, Sendable {
    public var x: Int
    public var y: Int
    public var width: Int
    public var height: Int

    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }
}

/// The places of the mark, the flash and the plain colour in a synthetic publisher's picture, in pixels of the source.
///
/// In the centre, everything lies within a quarter of the short side from it, so that it survives a centred crop to a
/// square or to half of the picture. In the corner it is half as large, lies within 0.41 of the short side, and
/// survives the crop to a square.
struct MarkGeometry: Hashable, Sendable {
    /// The part of the picture that has the mark.
    enum Place: Hashable, Codable, Sendable {
        case centre
        /// On the right of the centred square, above the area that a label covers.
        case corner
    }

    /// Edge of a cell in pixels; even, so that chroma samples are never shared between cells.
    let cell: Int
    let mark: PixelRectangle
    /// Area that is black, and white while the source flashes.
    let flash: PixelRectangle
    /// Area with only the source's own colour.
    let colour: PixelRectangle

    init(width: Int, height: Int, place: Place = .centre) {
        let short = min(width, height)
        cell = max(2, place == .centre ? short / 40 * 2 : short / 80 * 2)
        let edge = cell * SourceMark.side
        let x = (place == .centre ? (width - edge) / 2 : width / 2 + short * 2 / 5 - edge) & ~1
        let y = (place == .centre ? (height - edge) / 2 : height / 2 + short * 3 / 10 - edge - 3 * cell) & ~1
        mark = PixelRectangle(x: x, y: y, width: edge, height: edge)
        flash = PixelRectangle(x: x, y: y - 3 * cell, width: edge, height: 2 * cell)
        colour = PixelRectangle(x: x, y: y + edge + cell, width: edge, height: 2 * cell)
    }

    /// The area that covers all of these, with a margin.
    var panel: PixelRectangle {
        let margin = cell / 2
        return PixelRectangle(
            x: flash.x - margin, y: flash.y - margin, width: flash.width + 2 * margin,
            height: colour.y + colour.height - flash.y + 2 * margin)
    }
}
