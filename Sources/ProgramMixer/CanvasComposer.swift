import GStreamerKit
import LayoutEngine

/// Paints compositions: the background, then the panes from back to front, then the layers over them. Each pane is
/// cropped, scaled, converted and placed in one pass.
///
/// May be used by one thread at a time.
final class CanvasComposer {
    private struct PainterKey: Hashable {
        var format: VideoFormat
        var placement: PanePlacement
    }

    let format: VideoFormat
    private let canvas: Canvas
    private let colour: CanvasColour
    private let pool: CanvasPool
    /// Buffer for translucent panes: they are drawn here over what is behind them, and then blended with the canvas.
    private var scratch: VideoFrame?
    /// Cached painters, each with the number of the composition that used it last.
    private var painters: [PainterKey: (painter: PanePainter, used: Int)] = [:]
    private var count = 0
    /// The last composition and its picture, from which the next one takes what is the same.
    private var last: (composition: Composition, frame: VideoFrame)?

    /// Most pictures that may wait for the encoder.
    static let poolSize = 12
    /// Number of compositions after which an unused painter is dropped. A moving pane needs a new painter for each.
    private static let painterAge = 8

    init(canvas: Canvas, colour: CanvasColour) throws(GStreamerError) {
        self.canvas = canvas
        self.colour = colour
        format = Self.format(of: canvas, colour: colour)
        pool = try CanvasPool(format: format, most: Self.poolSize)
    }

    static func format(of canvas: Canvas, colour: CanvasColour) -> VideoFormat {
        VideoFormat(width: canvas.width, height: canvas.height, fps: .init(canvas.fps), colorimetry: colour.canvas)
    }

    /// Paints a composition. Returns `nil` while every picture of the pool waits for the encoder.
    ///
    /// The picture of a composition that is the same as the last one is returned again. A pane that shows the same, and
    /// that nothing overlaps, is copied instead of scaled and drawn.
    func compose(_ composition: Composition) -> VideoFrame? {
        if let last, composition.isSame(as: last.composition) { return last.frame }
        guard let frame = pool.acquire() else { return nil }
        count += 1
        if !composition.panes.contains(where: covers) { drawBackground(composition, onto: frame) }
        for (index, pane) in composition.panes.enumerated() where pane.pane.opacity > .zero {
            if let last, composition.keepsPane(index, of: last.composition), frame.copy(pane.pane.rect, of: last.frame)
            {
                continue
            }
            draw(pane, onto: frame)
        }
        for layer in composition.layers {
            layer.picture.draw(onto: frame, x: layer.x, y: layer.y, opacity: Self.weight(layer.opacity))
        }
        if count % Self.painterAge == 0 { painters = painters.filter { count - $0.value.used < Self.painterAge } }
        last = (composition, frame)
        return frame
    }

    private func drawBackground(_ composition: Composition, onto frame: VideoFrame) {
        if let backdrop = composition.backdrop, frame.copy(whole, of: backdrop) { return }
        fill(whole, composition.background, of: frame)
    }

    private func draw(_ pane: PaneContent, onto frame: VideoFrame) {
        guard pane.pane.opacity < .whole else { return drawParts(pane, onto: frame) }
        if case .nothing = pane.content, pane.pane.matte == nil { return }
        scratch = scratch ?? (try? CanvasPool(format: format, most: 1))?.acquire()
        guard let scratch else { return }
        let rect = pane.pane.rect
        scratch.copy(rect, of: frame)
        drawParts(pane, onto: scratch)
        frame.blend(rect, of: scratch, opacity: Self.weight(pane.pane.opacity))
    }

    private func drawParts(_ content: PaneContent, onto frame: VideoFrame) {
        let pane = content.pane
        if let matte = pane.matte, !content.fillsPane { fill(pane.rect, matte, of: frame) }
        switch content.content {
        case .picture(let picture): painter(pane, picture)?.draw(picture.frame, onto: frame)
        case .colour(let colour): fill(pane.rect, colour, of: frame)
        case .nothing: return
        }
        if let border = pane.border { draw(border, of: pane.rect, onto: frame) }
        if let label = content.label { draw(label, of: pane, onto: frame) }
    }

    private func draw(_ border: Pane.Border, of pane: VideoRect, onto frame: VideoFrame) {
        let width = min(border.width, pane.width / 2, pane.height / 2)
        let inner = pane.height - width * 2
        let edges = [
            VideoRect(x: pane.x, y: pane.y, width: pane.width, height: width),
            VideoRect(x: pane.x, y: pane.y + pane.height - width, width: pane.width, height: width),
            VideoRect(x: pane.x, y: pane.y + width, width: width, height: inner),
            VideoRect(x: pane.x + pane.width - width, y: pane.y + width, width: width, height: inner),
        ]
        for edge in edges { fill(edge, border.colour, of: frame) }
    }

    /// Draws a label at its edge of the pane. Where it is larger than the pane, the side that its text is aligned to is
    /// kept.
    private func draw(_ label: AlphaPicture, of pane: Pane, onto frame: VideoFrame) {
        guard let style = pane.label else { return }
        let size = (width: min(label.width, pane.width), height: min(label.height, pane.height))
        let free = label.width - size.width
        let column =
            switch style.side {
            case .left: 0
            case .centre: free / 4 * 2
            case .right: free / 2 * 2
            }
        let y = style.edge == .top ? pane.y : pane.y + (pane.height - size.height) / 2 * 2
        label.draw(
            onto: frame, x: pane.x, y: y,
            part: VideoRect(x: column, y: 0, width: size.width, height: size.height))
    }

    private func fill(_ rect: VideoRect, _ colour: RGB, of frame: VideoFrame) {
        let (y, u, v) = self.colour.planes(of: colour)
        frame.fill(rect, y: y, u: u, v: v)
    }

    private var whole: VideoRect { VideoRect(x: 0, y: 0, width: canvas.width, height: canvas.height) }

    private static func weight(_ opacity: UnitFraction) -> Int { Int((opacity.value * 256).rounded()) }

    /// Whether the pane hides everything behind it.
    private func covers(_ content: PaneContent) -> Bool {
        content.pane.opacity == .whole && content.pane.rect == whole
            && (content.fillsPane || content.pane.matte != nil)
    }

    private func painter(_ pane: Pane, _ picture: SourcePicture) -> PanePainter? {
        var source = picture.frame.format
        source.fps = .init(0)
        source.colorimetry =
            picture.colour.map { colour.colorimetry(of: $0, width: source.width, height: source.height) }
            ?? colour.canvas
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

extension PaneContent {
    /// Whether the content, where it is opaque, hides everything behind it, including the pane's matte.
    fileprivate var fillsPane: Bool {
        switch content {
        case .picture: pane.fit != .contain
        case .colour: true
        case .nothing: false
        }
    }
}

extension Pane {
    /// The pane's rectangle, in pixels of the canvas.
    var rect: VideoRect { VideoRect(x: x, y: y, width: width, height: height) }
}
