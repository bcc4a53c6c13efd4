import GStreamerKit
import LayoutEngine

/// The outline of a pane's content: corners are cut along it, the border follows it, and it casts the shadow.
struct PaneShape: Hashable {
    var rect: VideoRect
    /// Radius of the corners in pixels, at most half of the shorter side.
    var radius: Int

    /// Side of the squares around the corners, in pixels, even.
    var corner: Int { (radius + 1) & ~1 }

    /// Creates the outline of a pane's picture if that does not fill a rounded pane, otherwise of the pane itself.
    init(_ content: PaneContent, canvas: Canvas) {
        let pane = content.pane
        rect = pane.rect
        if pane.radius != nil || pane.shadow != nil, pane.fit == .contain, pane.matte == nil,
            pane.surround == nil,
            case .picture(let picture) = content.content,
            let placement = PanePlacement(pane, picture: picture.frame.format, canvas: canvas)
        {
            rect = placement.destination
        }
        radius = max(0, min(pane.radius ?? 0, min(rect.width, rect.height) / 2))
    }

    /// The parts that the outline fills, as rectangles that do not depend on the smoothing of corners.
    var filled: [VideoRect] {
        guard radius > 0 else { return [rect] }
        return [
            VideoRect(x: rect.x, y: rect.y + corner, width: rect.width, height: rect.height - corner * 2),
            VideoRect(x: rect.x + corner, y: rect.y, width: rect.width - corner * 2, height: rect.height),
        ].filter { $0.width > 0 && $0.height > 0 }
    }
}

/// The part of a canvas that opaque panes leave free, as rectangles that do not overlap.
enum FreeArea {
    /// Returns the free rectangles: one row of them for each distance between two edges of the covering ones.
    static func of(width: Int, height: Int, covered: [VideoRect]) -> [VideoRect] {
        let covered = covered.map { rect in
            let (left, top) = (max(rect.x, 0), max(rect.y, 0))
            return VideoRect(
                x: left, y: top, width: min(rect.x + rect.width, width) - left,
                height: min(rect.y + rect.height, height) - top)
        }.filter { $0.width > 0 && $0.height > 0 }
        let edges = Set([0, height] + covered.flatMap { [$0.y, $0.y + $0.height] }).sorted()
        var free: [VideoRect] = []
        for (top, bottom) in zip(edges, edges.dropFirst()) {
            var x = 0
            for rect in covered.filter({ $0.y <= top && $0.y + $0.height >= bottom }).sorted(by: { $0.x < $1.x }) {
                if rect.x > x { free.append(VideoRect(x: x, y: top, width: rect.x - x, height: bottom - top)) }
                x = max(x, rect.x + rect.width)
            }
            if x < width { free.append(VideoRect(x: x, y: top, width: width - x, height: bottom - top)) }
        }
        return free
    }
}
