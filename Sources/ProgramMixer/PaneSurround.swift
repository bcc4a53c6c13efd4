import GStreamerKit
import LayoutEngine

/// Draws the blurred copy of a picture that fills the rest of a pane around the picture.
///
/// The blur works on a small copy: the picture is scaled down until the radius is a few pixels, which costs little, and
/// scaled up again. The result cannot be distinguished from a full-size blur. May be used by one thread at a time.
final class PaneSurround {
    private let pool: CanvasPool
    private let shrinker: PanePainter
    private let grower: PanePainter
    private let radius: Int
    private let dim: Int
    /// A black picture of the small size; `nil` if nothing is darkened.
    private let black: VideoFrame?

    /// Radius in pixels of the small picture; with a smaller one its pixels would be visible.
    private static let smallRadius = 6
    /// Shortest side of the small picture, in pixels.
    private static let shortestSide = 16

    /// Creates the surround of a pane; `nil` if the pane is not within the canvas.
    ///
    /// - Throws: `GStreamerError` if GStreamer cannot convert between the formats.
    init?(
        _ pane: Pane, _ surround: Surround, from source: VideoFormat, to format: VideoFormat, canvas: Canvas,
        black: (y: UInt8, u: UInt8, v: UInt8)
    ) throws(GStreamerError) {
        let scale = max(1, surround.blur / Self.smallRadius)
        func side(_ length: Int) -> Int { max(min(length, Self.shortestSide), length / scale) & ~1 }
        var small = format
        (small.width, small.height) = (side(pane.width), side(pane.height))
        let area = Canvas(
            width: small.width, height: small.height, fps: canvas.fps, background: canvas.background)
        let whole = Pane(
            source: pane.source, user: pane.user, x: 0, y: 0, width: small.width, height: small.height,
            align: pane.align)
        var grown = pane
        grown.fit = .stretch
        guard let down = PanePlacement(whole, picture: source, canvas: area),
            let up = PanePlacement(grown, picture: small, canvas: canvas)
        else { return nil }
        pool = try CanvasPool(format: small, most: 2)
        shrinker = try PanePainter(from: source, placement: down, to: small)
        grower = try PanePainter(from: small, placement: up, to: format)
        radius = surround.blur / scale
        dim = Int((surround.dim.value * 256).rounded())
        self.black = dim > 0 ? pool.acquire() : nil
        self.black?.fill(y: black.y, u: black.u, v: black.v)
    }

    /// Draws the copy of a picture over the whole pane.
    ///
    /// - Returns: `false` if nothing was drawn, because there is no memory for it.
    func draw(_ picture: VideoFrame, onto frame: VideoFrame) -> Bool {
        guard let small = pool.acquire() else { return false }
        shrinker.draw(picture, onto: small)
        if radius > 0 { small.blur(radius: radius) }
        if let black {
            small.blend(VideoRect(x: 0, y: 0, width: small.width, height: small.height), of: black, opacity: dim)
        }
        grower.draw(small, onto: frame)
        return true
    }
}

/// The surrounds of all panes, kept while they are used. May be used by one thread at a time.
final class PaneSurrounds {
    private struct Key: Hashable {
        var source: VideoFormat
        var rect: VideoRect
        var align: Pane.Alignment
        var surround: Surround
    }
    private let format: VideoFormat
    private let canvas: Canvas
    private let black: (y: UInt8, u: UInt8, v: UInt8)
    private var known: [Key: PaneSurround] = [:]

    /// Largest number of surrounds that are kept: a moving pane needs another one for each frame.
    private static let most = 32

    init(format: VideoFormat, canvas: Canvas, colour: CanvasColour) {
        self.format = format
        self.canvas = canvas
        black = colour.planes(of: .black)
    }

    /// Draws the copy that surrounds a pane's picture, if the picture leaves room in the pane.
    ///
    /// - Parameters:
    ///   - source: Format of the picture, with its assumed colours.
    ///   - placement: Place of the picture itself.
    /// - Returns: `false` if the room is still empty.
    func draw(
        _ surround: Surround, of pane: Pane, _ picture: VideoFrame, as source: VideoFormat, placement: PanePlacement,
        onto frame: VideoFrame
    ) -> Bool {
        guard placement.destination != pane.rect else { return true }
        let key = Key(source: source, rect: pane.rect, align: pane.align, surround: surround)
        if known[key] == nil {
            if known.count >= Self.most { known = [:] }
            known[key] = try? PaneSurround(pane, surround, from: source, to: format, canvas: canvas, black: black)
        }
        return known[key]?.draw(picture, onto: frame) ?? false
    }
}
