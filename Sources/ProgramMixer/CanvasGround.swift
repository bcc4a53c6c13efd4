import GStreamerKit
import LayoutEngine

/// The layer behind all panes: the background, and the shadows that panes cast on it.
///
/// A static ground with shadows is painted once; frames copy the parts that panes leave free. May be used by one thread
/// at a time.
final class CanvasGround {
    /// The shadow of one pane.
    struct Cast: Hashable {
        var shape: PaneShape
        var shadow: Shadow
        /// Opacity of the pane.
        var opacity: UnitFraction
    }

    private struct Look {
        var background: RGB
        var backdrop: VideoFrame?
        var casts: [Cast]

        func isSame(as other: Look) -> Bool {
            background == other.background && backdrop === other.backdrop && casts == other.casts
        }
    }

    private struct BoxKey: Hashable {
        var radius: Int
        var blur: Int
        var room: Int
    }

    private let format: VideoFormat
    private let colour: CanvasColour
    private var painted: (look: Look, frame: VideoFrame)?
    private var last: Look?
    private var boxes: [BoxKey: SoftBox] = [:]

    /// Largest number of cached soft boxes: a moving pane may need another one for each frame.
    private static let mostBoxes = 32

    init(format: VideoFormat, colour: CanvasColour) {
        self.format = format
        self.colour = colour
    }

    /// Draws the ground of a composition where no pane covers it.
    func draw(_ composition: Composition, casts: [Cast], onto frame: VideoFrame, free: [VideoRect]) {
        let look = Look(background: composition.background, backdrop: composition.backdrop, casts: casts)
        defer { last = look }
        guard !casts.isEmpty else {
            painted = nil
            drawBackground(look, onto: frame, in: free)
            return
        }
        if painted?.look.isSame(as: look) != true, last?.isSame(as: look) == true {
            painted = (try? CanvasPool(format: format, most: 1))?.acquire().map { ground in
                let whole = VideoRect(x: 0, y: 0, width: format.width, height: format.height)
                drawBackground(look, onto: ground, in: [whole])
                for cast in casts { draw(cast, onto: ground) }
                return (look, ground)
            }
        }
        if let painted, painted.look.isSame(as: look) {
            for rect in free { frame.copy(rect, of: painted.frame) }
            return
        }
        drawBackground(look, onto: frame, in: free)
        for cast in casts { draw(cast, onto: frame) }
    }

    /// Draws one pane's shadow around its outline.
    func draw(_ cast: Cast, onto frame: VideoFrame) {
        let (shape, shadow) = (cast.shape, cast.shadow)
        let room = min(shape.rect.width, shape.rect.height) / 2
        let (y, u, v) = colour.planes(of: shadow.colour)
        let opacity = shadow.opacity.value * cast.opacity.value * 256
        frame.shade(
            around: shape.rect, cut: shape.radius,
            by: box(
                BoxKey(radius: shape.radius, blur: shadow.blur, room: min(room, max(shape.radius, shadow.blur))), shadow
            ),
            offset: shadow.offset, y: y, u: u, v: v, opacity: Int(opacity.rounded()))
    }

    private func box(_ key: BoxKey, _ shadow: Shadow) -> SoftBox {
        if let known = boxes[key] { return known }
        if boxes.count >= Self.mostBoxes { boxes = [:] }
        let box = SoftBox(radius: key.radius, blur: key.blur, reach: shadow.reach, room: key.room)
        boxes[key] = box
        return box
    }

    private func drawBackground(_ look: Look, onto frame: VideoFrame, in free: [VideoRect]) {
        let (y, u, v) = colour.planes(of: look.background)
        for rect in free {
            if let backdrop = look.backdrop, frame.copy(rect, of: backdrop) { continue }
            frame.fill(rect, y: y, u: u, v: v)
        }
    }
}
