import GStreamerKit
import LayoutEngine

/// Paints compositions: the background, then the panes and the layers from back to front. Each pane is
/// cropped, scaled, converted and placed in one pass.
///
/// May be used by one thread at a time.
final class CanvasComposer {
    private struct PainterKey: Hashable {
        var format: VideoFormat
        var placement: PanePlacement
    }

    private struct MaskKey: Hashable {
        var radius: Int
        var inset: Int
    }

    let format: VideoFormat
    private let canvas: Canvas
    private let colour: CanvasColour
    private let pool: CanvasPool
    /// Buffer for translucent panes: they are drawn here over a copy of their background, and then blended with the
    /// canvas.
    private var scratch: VideoFrame?
    /// Buffer for the pixels under rounded corners while the pane is drawn over them.
    private var under: VideoFrame?
    private var masks: [MaskKey: CornerMask] = [:]
    private let ground: CanvasGround
    private let surrounds: PaneSurrounds
    /// Cached painters, each with the number of the composition that used it last.
    private var painters: [PainterKey: (painter: PanePainter, used: Int)] = [:]
    private var count = 0
    /// The last composition and its picture, from which unchanged parts of the next one are copied.
    private var last: (composition: Composition, frame: VideoFrame)?

    /// Largest number of pictures that may wait for the encoder.
    static let poolSize = 12
    /// Number of compositions after which an unused painter is dropped. A moving pane needs a new painter for each.
    private static let painterAge = 8
    /// Largest number of cached corner masks: panes whose radius changes need another one for each frame.
    private static let mostMasks = 32

    init(canvas: Canvas, colour: CanvasColour) throws(GStreamerError) {
        self.canvas = canvas
        self.colour = colour
        format = Self.format(of: canvas, colour: colour)
        pool = try CanvasPool(format: format, most: Self.poolSize)
        ground = CanvasGround(format: format, colour: colour)
        surrounds = PaneSurrounds(format: format, canvas: canvas, colour: colour)
    }

    static func format(of canvas: Canvas, colour: CanvasColour) -> VideoFormat {
        VideoFormat(width: canvas.width, height: canvas.height, fps: .init(canvas.fps), colorimetry: colour.canvas)
    }

    /// Paints a composition. Returns `nil` while all pictures of the pool wait for the encoder.
    ///
    /// If a composition equals the last one, the same picture is returned again. An unchanged pane that nothing
    /// overlaps is copied instead of scaled and drawn.
    func compose(_ composition: Composition) -> VideoFrame? {
        if let last, composition.isSame(as: last.composition) { return last.frame }
        guard let frame = pool.acquire() else { return nil }
        count += 1
        let shapes = composition.panes.map { PaneShape($0, canvas: canvas) }
        drawGround(composition, shapes, onto: frame)
        var floor = Int.min
        for (index, pane) in composition.panes.enumerated() {
            drawLayers(of: composition, from: floor, below: pane.pane.z, onto: frame)
            floor = max(floor, pane.pane.z)
            guard pane.pane.opacity > .zero else { continue }
            if let last, composition.keepsPane(index, of: last.composition), frame.copy(pane.pane.rect, of: last.frame)
            {
                continue
            }
            if composition.isFloating(index), let cast = cast(of: pane, shapes[index]) {
                ground.draw(cast, onto: frame)
            }
            draw(pane, shapes[index], onto: frame)
        }
        drawLayers(of: composition, from: floor, below: .max, onto: frame)
        if count % Self.painterAge == 0 { painters = painters.filter { count - $0.value.used < Self.painterAge } }
        last = (composition, frame)
        return frame
    }

    /// Draws the layers with places from `floor` up to `limit`, which is not included. Such layers are in front of what has
    /// been painted, and behind the pane at `limit`.
    private func drawLayers(of composition: Composition, from floor: Int, below limit: Int, onto frame: VideoFrame) {
        for layer in composition.layers where floor <= layer.z && layer.z < limit {
            layer.picture.draw(onto: frame, x: layer.x, y: layer.y, opacity: Self.weight(layer.opacity))
        }
    }

    private func drawGround(_ composition: Composition, _ shapes: [PaneShape], onto frame: VideoFrame) {
        var covered: [VideoRect] = []
        var casts: [CanvasGround.Cast] = []
        for (index, pane) in composition.panes.enumerated() {
            let isOpaque = pane.pane.opacity == .whole && (pane.fillsPane || pane.pane.matte != nil)
            if isOpaque { covered += shapes[index].filled }
            if !composition.isFloating(index), let cast = cast(of: pane, shapes[index]) { casts.append(cast) }
        }
        let free = FreeArea.of(width: canvas.width, height: canvas.height, covered: covered)
        ground.draw(composition, casts: casts, onto: frame, free: free)
    }

    private func cast(of content: PaneContent, _ shape: PaneShape) -> CanvasGround.Cast? {
        guard let shadow = content.pane.shadow, content.pane.opacity > .zero else { return nil }
        if case .nothing = content.content, content.pane.matte == nil { return nil }
        return CanvasGround.Cast(shape: shape, shadow: shadow, opacity: content.pane.opacity)
    }

    private func draw(_ pane: PaneContent, _ shape: PaneShape, onto frame: VideoFrame) {
        guard pane.pane.opacity < .whole else { return drawParts(pane, shape, onto: frame) }
        if case .nothing = pane.content, pane.pane.matte == nil { return }
        scratch = scratch ?? (try? CanvasPool(format: format, most: 1))?.acquire()
        guard let scratch else { return }
        let rect = pane.pane.rect
        scratch.copy(rect, of: frame)
        drawParts(pane, shape, onto: scratch)
        frame.blend(rect, of: scratch, opacity: Self.weight(pane.pane.opacity))
    }

    private func drawParts(_ content: PaneContent, _ shape: PaneShape, onto frame: VideoFrame) {
        guard shape.radius > 0 else { return drawInside(content, shape, onto: frame) }
        under = under ?? (try? CanvasPool(format: format, most: 1))?.acquire()
        let mask = mask(radius: shape.radius)
        let isKept = under.map { $0.copyCorners(of: shape.rect, size: mask.size, from: frame) } ?? false
        drawInside(content, shape, onto: frame)
        if isKept, let under { frame.cutCorners(of: shape.rect, by: mask, showing: under) }
    }

    private func drawInside(_ content: PaneContent, _ shape: PaneShape, onto frame: VideoFrame) {
        let pane = content.pane
        if let matte = pane.matte, !content.fillsPane { fill(pane.rect, matte, of: frame) }
        switch content.content {
        case .picture(let picture):
            guard let (painter, key) = painter(pane, picture) else {
                fill(pane.rect, pane.matte ?? canvas.background, of: frame)
                break
            }
            if pane.fit == .contain, let surround = pane.surround,
                !surrounds.draw(
                    surround, of: pane, picture.frame, as: key.format, placement: key.placement, onto: frame)
            {
                fill(pane.rect, pane.matte ?? canvas.background, of: frame)
            }
            painter.draw(picture.frame, onto: frame)
        case .colour(let colour): fill(pane.rect, colour, of: frame)
        case .nothing: return
        }
        if let border = pane.border { draw(border, of: shape, onto: frame) }
        if let label = content.label { draw(label, of: pane, in: shape.rect, onto: frame) }
    }

    private func draw(_ border: Pane.Border, of shape: PaneShape, onto frame: VideoFrame) {
        let pane = shape.rect
        let width = min(border.width, pane.width / 2, pane.height / 2)
        // Round corners are painted before the sides, which end where the corners begin.
        let corner = shape.radius > 0 ? max(shape.corner, (width + 1) & ~1) : width
        let side = pane.height - corner * 2
        let edges = [
            VideoRect(x: pane.x, y: pane.y, width: pane.width, height: width),
            VideoRect(x: pane.x, y: pane.y + pane.height - width, width: pane.width, height: width),
            VideoRect(x: pane.x, y: pane.y + corner, width: width, height: side),
            VideoRect(x: pane.x + pane.width - width, y: pane.y + corner, width: width, height: side),
        ]
        if shape.radius > 0 {
            let (y, u, v) = colour.planes(of: border.colour)
            frame.paintCorners(of: pane, by: mask(radius: shape.radius, inset: width), y: y, u: u, v: v)
        }
        for edge in edges where edge.height > 0 { fill(edge, border.colour, of: frame) }
    }

    private func mask(radius: Int, inset: Int = 0) -> CornerMask {
        let key = MaskKey(radius: radius, inset: inset)
        if let known = masks[key] { return known }
        if masks.count >= Self.mostMasks { masks = [:] }
        let mask = CornerMask(radius: radius, inset: inset)
        masks[key] = mask
        return mask
    }

    /// Draws a label at its edge of the pane. If it is larger than the pane, the side to which its text is aligned is
    /// kept.
    private func draw(_ label: AlphaPicture, of pane: Pane, in shape: VideoRect, onto frame: VideoFrame) {
        guard let style = pane.label else { return }
        if style.inset > 0 { return drawPill(label, style, in: shape, onto: frame) }
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

    /// Draws a pill at a distance from the edges. Parts that do not fit while the pane is small are cut off.
    private func drawPill(_ label: AlphaPicture, _ style: Label, in shape: VideoRect, onto frame: VideoFrame) {
        let room = (width: shape.width - style.inset * 2, height: shape.height - style.inset * 2)
        let size = (width: min(label.width, room.width), height: min(label.height, room.height))
        guard size.width > 0, size.height > 0 else { return }
        let free = (room.width - size.width) & ~1
        let x =
            switch style.side {
            case .left: 0
            case .centre: free / 2 & ~1
            case .right: free
            }
        label.draw(
            onto: frame, x: shape.x + style.inset + x,
            y: shape.y + (style.edge == .top ? style.inset : (shape.height - style.inset - size.height) & ~1),
            part: VideoRect(x: 0, y: 0, width: size.width, height: size.height))
    }

    private func fill(_ rect: VideoRect, _ colour: RGB, of frame: VideoFrame) {
        let (y, u, v) = self.colour.planes(of: colour)
        frame.fill(rect, y: y, u: u, v: v)
    }

    private static func weight(_ opacity: UnitFraction) -> Int { Int((opacity.value * 256).rounded()) }

    private func painter(_ pane: Pane, _ picture: SourcePicture) -> (PanePainter, PainterKey)? {
        var source = picture.frame.format
        source.fps = .init(0)
        source.colorimetry =
            picture.colour.map { colour.colorimetry(of: $0, width: source.width, height: source.height) }
            ?? colour.canvas
        guard let placement = PanePlacement(pane, picture: source, canvas: canvas) else { return nil }
        let key = PainterKey(format: source, placement: placement)
        if let known = painters[key]?.painter {
            painters[key]?.used = count
            return (known, key)
        }
        // A picture that GStreamer cannot convert results in an empty pane.
        guard let made = try? PanePainter(from: source, placement: placement, to: format) else { return nil }
        painters[key] = (made, count)
        return (made, key)
    }
}

extension PaneContent {
    /// Whether the content, where it is opaque, hides everything behind it, including the pane's matte.
    fileprivate var fillsPane: Bool {
        switch content {
        case .picture: pane.fit != .contain || pane.surround != nil
        case .colour: true
        case .nothing: false
        }
    }
}

extension Pane {
    /// The pane's rectangle, in pixels of the canvas.
    var rect: VideoRect { VideoRect(x: x, y: y, width: width, height: height) }
}
