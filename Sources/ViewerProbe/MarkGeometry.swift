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
/// Everything lies within a quarter of the short side from the centre, so that it survives a centred crop to a square
/// or to half of the picture.
struct MarkGeometry: Hashable, Sendable {
    /// Edge of a cell in pixels; even, so that chroma samples are never shared between cells.
    let cell: Int
    let mark: PixelRectangle
    /// Area that is black, and white while the source flashes.
    let flash: PixelRectangle
    /// Area with nothing but the source's own colour.
    let colour: PixelRectangle

    init(width: Int, height: Int) {
        cell = max(2, min(width, height) / 40 * 2)
        let edge = cell * SourceMark.side
        let x = (width - edge) / 2 & ~1
        let y = (height - edge) / 2 & ~1
        mark = PixelRectangle(x: x, y: y, width: edge, height: edge)
        flash = PixelRectangle(x: x, y: y - 3 * cell, width: edge, height: 2 * cell)
        colour = PixelRectangle(x: x, y: y + edge + cell, width: edge, height: 2 * cell)
    }
}
