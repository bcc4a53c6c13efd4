import GStreamerKit
import LayoutEngine
import MixModel

/// A decoded picture of a source.
struct SourcePicture: Sendable {
    var frame: VideoFrame
    /// As the source's SPS signals it.
    var colour: ColourSignal
}

/// Everything that one frame of the canvas shows.
struct Composition: Sendable {
    var background: RGB
    /// From back to front. A pane without a picture shows what is behind it.
    var panes: [(pane: Pane, picture: SourcePicture?)]
}

/// Paints compositions: background, then the panes from back to front, each cropped, scaled, converted and placed in
/// one pass.
///
/// For one thread at a time.
final class CanvasComposer {
    private struct PainterKey: Hashable {
        var format: VideoFormat
        var placement: PanePlacement
    }

    let format: VideoFormat
    private let canvas: Canvas
    private let colour: CanvasColour
    private let pool: CanvasPool
    /// With the number of the composition that used it last.
    private var painters: [PainterKey: (painter: PanePainter, used: Int)] = [:]
    private var count = 0

    /// Pictures that may wait for the encoder.
    static let poolSize = 12

    init(canvas: Canvas, colour: CanvasColour) throws(GStreamerError) {
        self.canvas = canvas
        self.colour = colour
        format = Self.format(of: canvas, colour: colour)
        pool = try CanvasPool(format: format, most: Self.poolSize)
    }

    static func format(of canvas: Canvas, colour: CanvasColour) -> VideoFormat {
        VideoFormat(width: canvas.width, height: canvas.height, fps: .init(canvas.fps), colorimetry: colour.canvas)
    }

    /// `nil` while every picture of the pool waits for the encoder.
    func compose(_ composition: Composition) -> VideoFrame? {
        guard let frame = pool.acquire() else { return nil }
        let background = colour.planes(of: composition.background)
        if !composition.panes.contains(where: { $0.picture != nil && covers($0.pane) }) {
            frame.fill(y: background.y, u: background.u, v: background.v)
        }
        count += 1
        for (pane, picture) in composition.panes {
            guard let picture, let painter = painter(pane, picture) else { continue }
            painter.draw(picture.frame, onto: frame)
        }
        if count % 64 == 0 { painters = painters.filter { count - $0.value.used < 64 } }
        return frame
    }

    private func covers(_ pane: Pane) -> Bool {
        guard pane.fit != .contain else { return false }
        return (pane.x, pane.y) == (0, 0) && (pane.width, pane.height) == (canvas.width, canvas.height)
    }

    private func painter(_ pane: Pane, _ picture: SourcePicture) -> PanePainter? {
        var source = picture.frame.format
        source.fps = .init(0)
        source.colorimetry = colour.colorimetry(of: picture.colour, width: source.width, height: source.height)
        guard let placement = PanePlacement(pane, picture: source, canvas: canvas) else { return nil }
        let key = PainterKey(format: source, placement: placement)
        if let known = painters[key]?.painter {
            painters[key]?.used = count
            return known
        }
        // A picture that GStreamer cannot convert shows as an empty pane.
        guard let made = try? PanePainter(from: source, placement: placement, to: format) else { return nil }
        painters[key] = (made, count)
        return made
    }
}
