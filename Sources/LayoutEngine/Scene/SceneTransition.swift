/// The transition from one scene to the next, picture by picture.
///
/// Pure and exact: the same two scenes and the same progress give the same picture on every machine. Panes of a source
/// that is in both scenes move and grow. New panes fade in while they grow slightly from their centre, and leaving
/// panes fade out in place. All edges stay even and inside the canvas, and edges that touch in both scenes touch
/// throughout.
///
/// An intermediate scene is a scene like any other: a transition that starts from it continues from the current
/// picture.
public struct SceneTransition: Sendable {
    private let from: Scene
    private let to: Scene
    private let panes: [Moving<Pane>]
    private let overlays: [Moving<Overlay>]

    /// Creates a transition. Between different canvases there is no transition: `to` is shown at once.
    public init(from: Scene, to: Scene) {
        self.from = from
        self.to = to
        guard from.canvas == to.canvas else {
            panes = []
            overlays = []
            return
        }
        panes = Self.pairs(from.panes, to.panes)
        overlays = Self.pairs(from.overlays, to.overlays)
    }

    /// Returns the scene shown when `progress` of the duration has passed, with the easing and the sound of `to`.
    ///
    /// At 0 it has the picture of `from`; at 1 it is exactly `to`.
    public func scene(at progress: UnitFraction) -> Scene {
        guard progress < .whole, from.canvas == to.canvas else { return to }
        guard progress > .zero else {
            return Scene(
                canvas: from.canvas, background: from.background, panes: from.panes, overlays: from.overlays,
                sound: to.sound, transition: to.transition)
        }
        let eased = to.transition.easing.eased(progress)
        return Scene(
            canvas: to.canvas, background: to.background, panes: panes(at: eased),
            overlays: overlays(at: eased), sound: to.sound,
            transition: to.transition)
    }
}

/// A pane or an overlay that is in the old scene, in the new one, or in both.
private enum Moving<Part: Sendable>: Sendable {
    case leaving(Part)
    case staying(Part, Part)
    case coming(Part)
}

// MARK: - Panes
extension SceneTransition {
    /// Pairs the panes of both scenes. For equal `z` the order from back to front is panes that leave, panes that stay,
    /// new panes.
    private static func pairs(_ old: [Pane], _ new: [Pane]) -> [Moving<Pane>] {
        let before = Dictionary(old.map { ($0.source, $0) }, uniquingKeysWith: { first, _ in first })
        let after = Set(new.map(\.source))
        return old.filter { !after.contains($0.source) }.map { .leaving($0) }
            + new.compactMap { pane in before[pane.source].map { .staying($0, pane) } }
            + new.filter { before[$0.source] == nil }.map { .coming($0) }
    }

    private func panes(at progress: UnitFraction) -> [Pane] {
        // Two panes that swap places are equally large halfway, so their stacking order changes there.
        let isFirstHalf = progress.millionths < UnitFraction.one / 2
        var result: [Pane] = []
        result.reserveCapacity(panes.count)
        for moving in panes {
            switch moving {
            case .leaving(var pane):
                pane.opacity = .between(pane.opacity, .zero, at: progress)
                result.append(pane)
            case .coming(let pane):
                var shown = pane
                shown.place(.between(pane.rectangle.shrunk, pane.rectangle, at: progress))
                shown.opacity = .between(.zero, pane.opacity, at: progress)
                shown.fitDecorations(border: pane.border, radius: pane.radius ?? 0)
                result.append(shown)
            case .staying(let old, let new):
                var shown = new
                shown.place(.between(old.rectangle, new.rectangle, at: progress))
                shown.opacity = .between(old.opacity, new.opacity, at: progress)
                if isFirstHalf { shown.z = old.z }
                shown.shadow = .between(old.shadow, new.shadow, at: progress)
                shown.fitDecorations(
                    border: .between(old.border, new.border, at: progress),
                    radius: UnitFraction.evenPixels(from: old.radius ?? 0, to: new.radius ?? 0, at: progress))
                result.append(shown)
            }
        }
        result.sortStably { $0.z }
        return result
    }
}

extension Pane {
    var rectangle: Rectangle { Rectangle(x: x, y: y, width: width, height: height) }

    fileprivate mutating func place(_ rectangle: Rectangle) {
        x = rectangle.x
        y = rectangle.y
        width = rectangle.width
        height = rectangle.height
    }

    /// Leaves out the decorations for which the pane has no room while it is small.
    fileprivate mutating func fitDecorations(border: Border?, radius: Int) {
        self.border = border.flatMap { Border(width: $0.width, colour: $0.colour, in: rectangle) }
        speaking = speaking.flatMap { Border(width: $0.width, colour: $0.colour, in: rectangle) }
        let most = min(width, height) / 2
        self.radius = radius > 0 ? min(radius, most) : nil
        if let label, !label.fits(in: rectangle) { self.label = nil }
    }
}

extension Pane.Border {
    /// Returns the intermediate border. A border that is missing in one of the scenes has a width of 0 there.
    fileprivate static func between(_ old: Self?, _ new: Self?, at progress: UnitFraction) -> Self? {
        guard let colour = new?.colour ?? old?.colour else { return nil }
        let width = UnitFraction.evenPixels(from: old?.width ?? 0, to: new?.width ?? 0, at: progress)
        return Self(width: width, colour: colour)
    }
}

extension Shadow {
    /// Returns the intermediate shadow. A shadow that is missing in one of the scenes is invisible there.
    fileprivate static func between(_ old: Self?, _ new: Self?, at progress: UnitFraction) -> Self? {
        guard var shadow = new ?? old else { return nil }
        let (before, after) = (old ?? shadow, new ?? shadow)
        shadow.blur = UnitFraction.evenPixels(from: before.blur, to: after.blur, at: progress)
        shadow.offset = UnitFraction.evenPixels(from: before.offset, to: after.offset, at: progress)
        shadow.opacity = .between(old?.opacity ?? .zero, new?.opacity ?? .zero, at: progress)
        return shadow
    }
}

// MARK: - Overlays
extension SceneTransition {
    /// Maximum number of overlays shown during a transition, so that leaving ones do not accumulate when transitions
    /// are interrupted repeatedly.
    private static let mostOverlays = 16

    /// Pairs the overlays of both scenes. An overlay with the same content and size stays and may move; all others
    /// fade. For equal `z` those that leave are behind the others.
    private static func pairs(_ old: [Overlay], _ new: [Overlay]) -> [Moving<Overlay>] {
        var waiting = old
        var taken = Set(new.map(\.id))
        let arriving: [Moving<Overlay>] = new.map { overlay in
            let match = waiting.firstIndex {
                $0.content == overlay.content && $0.width == overlay.width && $0.height == overlay.height
            }
            return match.map { .staying(waiting.remove(at: $0), overlay) } ?? .coming(overlay)
        }
        let leaving: [Moving<Overlay>] = waiting.suffix(max(mostOverlays - new.count, 0)).map { overlay in
            var overlay = overlay
            while !taken.insert(overlay.id).inserted { overlay.id += "…" }
            return .leaving(overlay)
        }
        return leaving + arriving
    }

    private func overlays(at progress: UnitFraction) -> [Overlay] {
        var result = overlays.map { overlay(of: $0, at: progress) }
        result.sortStably { $0.level }
        return result
    }

    private func overlay(of moving: Moving<Overlay>, at progress: UnitFraction) -> Overlay {
        switch moving {
        case .leaving(var overlay):
            overlay.opacity = .between(overlay.opacity, .zero, at: progress)
            return overlay
        case .coming(var overlay):
            overlay.opacity = .between(.zero, overlay.opacity, at: progress)
            return overlay
        case .staying(let old, var overlay):
            // As with panes, the stacking order changes in the middle.
            if progress.millionths < UnitFraction.one / 2 { overlay.z = old.z }
            overlay.opacity = .between(old.opacity, overlay.opacity, at: progress)
            overlay.x = UnitFraction.evenPixels(from: old.x, to: overlay.x, at: progress)
            overlay.y = UnitFraction.evenPixels(from: old.y, to: overlay.y, at: progress)
            return overlay
        }
    }
}

extension Array {
    /// Sorts by a level; elements of equal levels keep their order. Insertion sort, since parts of a scene are few and
    /// almost always sorted already.
    fileprivate mutating func sortStably(by level: (Element) -> Int) {
        for index in indices.dropFirst() {
            var place = index
            while place > 0, level(self[place - 1]) > level(self[place]) {
                swapAt(place - 1, place)
                place -= 1
            }
        }
    }
}

// MARK: - Arithmetic
extension Transition.Easing {
    /// Returns the eased progress. It is monotonic, and maps 0 and 1 to themselves. The curves are quadratic, so
    /// integers suffice.
    func eased(_ progress: UnitFraction) -> UnitFraction {
        let one = UnitFraction.one
        let passed = progress.millionths
        let left = one - passed
        return switch self {
        case .linear: progress
        case .easeIn: UnitFraction(millionths: passed * passed / one)
        case .easeOut: UnitFraction(millionths: one - left * left / one)
        case .easeInOut:
            UnitFraction(
                millionths: passed * 2 < one ? 2 * passed * passed / one : one - 2 * left * left / one)
        }
    }
}

extension UnitFraction {
    fileprivate static func between(_ old: UnitFraction, _ new: UnitFraction, at progress: UnitFraction)
        -> UnitFraction
    {
        UnitFraction(
            millionths: old.millionths + (new.millionths - old.millionths) * progress.millionths / one)
    }

    /// Returns the even number of pixels nearest to this place between two even ones. Monotonic in `progress`.
    fileprivate static func evenPixels(from old: Int, to new: Int, at progress: UnitFraction) -> Int {
        (old * one + (new - old) * progress.millionths + one) / (2 * one) * 2
    }
}

extension Rectangle {
    /// Returns the intermediate rectangle, edge by edge: edges that touch before and after also touch in between.
    fileprivate static func between(_ old: Rectangle, _ new: Rectangle, at progress: UnitFraction) -> Rectangle {
        func edge(_ old: Int, _ new: Int) -> Int { UnitFraction.evenPixels(from: old, to: new, at: progress) }
        let (left, top) = (edge(old.x, new.x), edge(old.y, new.y))
        return Rectangle(
            x: left, y: top, width: edge(old.x + old.width, new.x + new.width) - left,
            height: edge(old.y + old.height, new.y + new.height) - top)
    }

    /// The rectangle at about four fifths of its size, around the same centre.
    fileprivate var shrunk: Rectangle {
        let (across, down) = (min(width / 20 * 2, (width - 2) / 4 * 2), min(height / 20 * 2, (height - 2) / 4 * 2))
        return Rectangle(x: x + across, y: y + down, width: width - across * 2, height: height - down * 2)
    }
}
