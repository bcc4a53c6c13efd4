import GStreamerKit
import LayoutEngine

// Comparison of compositions. Pictures and graphics are the same only if they are the same object, because their pixels
// never change.
extension Composition {
    /// Returns whether both result in the same canvas.
    func isSame(as other: Composition) -> Bool {
        hasSameGround(as: other) && panes.count == other.panes.count && layers.count == other.layers.count
            && zip(panes, other.panes).allSatisfy { $0.isSame(as: $1) }
            && zip(layers, other.layers).allSatisfy { $0.isSame(as: $1) }
    }

    /// Returns whether the rectangle of a pane looks as it does on the canvas of another composition: the pane shows
    /// the same over the same background, and neither canvas contains anything else there.
    func keepsPane(_ index: Int, of other: Composition) -> Bool {
        guard panes.count == other.panes.count, panes[index].isSame(as: other.panes[index]), hasSameGround(as: other)
        else { return false }
        return isAlone(index) && other.isAlone(index)
    }

    private func hasSameGround(as other: Composition) -> Bool {
        background == other.background && backdrop === other.backdrop && hasSameShadows(as: other)
    }

    /// Returns whether all panes cast the same shadows at the same positions.
    private func hasSameShadows(as other: Composition) -> Bool {
        zip(panes, other.panes).allSatisfy { content, same in
            let (pane, other) = (content.pane, same.pane)
            return pane.shadow == other.shadow
                && (pane.shadow == nil
                    || pane.rect == other.rect && pane.radius == other.radius && pane.opacity == other.opacity)
        }
    }

    /// Returns whether a pane lies over part of one before it, so that its shadow falls on that pane and not only on
    /// the ground.
    func isFloating(_ index: Int) -> Bool {
        let rect = panes[index].pane.rect
        return panes[index].pane.shadow != nil && panes[..<index].contains { $0.pane.rect.overlaps(rect) }
    }

    /// Returns whether no other pane or layer overlaps a pane.
    private func isAlone(_ index: Int) -> Bool {
        let rect = panes[index].pane.rect
        return panes.indices.allSatisfy { $0 == index || !reach(of: $0).overlaps(rect) }
            && !layers.contains { $0.rect.overlaps(rect) }
    }
}

extension Composition {
    /// The rectangle in which a pane is drawn, including its shadow if that falls on other panes.
    private func reach(of index: Int) -> VideoRect {
        let rect = panes[index].pane.rect
        guard isFloating(index), let shadow = panes[index].pane.shadow else { return rect }
        let reach = shadow.reach + shadow.offset
        return VideoRect(
            x: rect.x - reach, y: rect.y - reach, width: rect.width + reach * 2, height: rect.height + reach * 2)
    }
}

extension Composition.Layer {
    fileprivate func isSame(as other: Self) -> Bool {
        picture === other.picture && x == other.x && y == other.y && z == other.z && opacity == other.opacity
    }

    fileprivate var rect: VideoRect { VideoRect(x: x, y: y, width: picture.width, height: picture.height) }
}

extension PaneContent {
    fileprivate func isSame(as other: PaneContent) -> Bool {
        content.isSame(as: other.content) && label === other.label && pane == other.pane
    }
}

extension PaneContent.Content {
    fileprivate func isSame(as other: Self) -> Bool {
        switch (self, other) {
        case (.picture(let picture), .picture(let same)): picture.frame === same.frame && picture.colour == same.colour
        case (.colour(let colour), .colour(let same)): colour == same
        case (.nothing, .nothing): true
        default: false
        }
    }
}

extension VideoRect {
    func overlaps(_ other: VideoRect) -> Bool {
        x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height
    }
}
