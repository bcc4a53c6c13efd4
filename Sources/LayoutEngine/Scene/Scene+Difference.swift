/// The changes that a running mixer makes to turn one scene into another.
///
/// `nil` leaves a part unchanged.
public struct SceneDifference: Hashable, Codable, Sendable {
    public var canvas: Canvas?
    public var background: Background?
    /// Sources that lose their pane, in the order of the old scene.
    public var removed: [String]
    /// Panes of sources that did not have one.
    public var added: [Pane]
    /// New panes of sources that had a different one. Each pane is complete.
    public var changed: [Pane]
    /// All sources of the new scene from back to front; `nil` if removing and adding panes already gives this order.
    public var order: [String]?
    /// All overlays of the new scene.
    public var overlays: [Overlay]?
    public var sound: SceneSound?
    /// The new scene's transition. It is always present, even if the old scene had the same one.
    public var transition: Transition

    /// A new background, or none.
    public enum Background: Hashable, Codable, Sendable {
        case absent
        case image(Scene.Backdrop)
    }

    public init(
        canvas: Canvas? = nil, background: Background? = nil, removed: [String] = [], added: [Pane] = [],
        changed: [Pane] = [], order: [String]? = nil, overlays: [Overlay]? = nil, sound: SceneSound? = nil,
        transition: Transition
    ) {
        self.canvas = canvas
        self.background = background
        self.removed = removed
        self.added = added
        self.changed = changed
        self.order = order
        self.overlays = overlays
        self.sound = sound
        self.transition = transition
    }

    /// Whether the change can be neither seen nor heard.
    public var isEmpty: Bool {
        canvas == nil && background == nil && removed.isEmpty && added.isEmpty && changed.isEmpty && order == nil
            && overlays == nil && sound == nil
    }
}

extension Scene {
    /// Returns the difference that turns `old` into this scene. A source has at most one pane in each.
    public func difference(from old: Scene) -> SceneDifference {
        let before = Dictionary(old.panes.map { ($0.source, $0) }, uniquingKeysWith: { first, _ in first })
        let after = Set(panes.map(\.source))
        let removed = old.panes.map(\.source).filter { !after.contains($0) }
        let added = panes.filter { before[$0.source] == nil }
        let natural = old.panes.map(\.source).filter(after.contains) + added.map(\.source)
        let order = panes.map(\.source)
        return SceneDifference(
            canvas: canvas == old.canvas ? nil : canvas,
            background: background == old.background ? nil : background.map { .image($0) } ?? .absent,
            removed: removed, added: added,
            changed: panes.filter { pane in before[pane.source].map { $0 != pane } ?? false },
            order: order == natural ? nil : order, overlays: overlays == old.overlays ? nil : overlays,
            sound: sound == old.sound ? nil : sound, transition: transition)
    }

    /// Returns this scene with a difference applied to it. A difference of other scenes is applied as far as possible.
    public func applying(_ difference: SceneDifference) -> Scene {
        let removed = Set(difference.removed)
        let changed = Dictionary(
            difference.changed.map { ($0.source, $0) }, uniquingKeysWith: { _, last in last })
        var panes = panes.filter { !removed.contains($0.source) }.map { changed[$0.source] ?? $0 }
        panes += difference.added
        if let order = difference.order {
            let bySource = Dictionary(panes.map { ($0.source, $0) }, uniquingKeysWith: { first, _ in first })
            panes = order.compactMap { bySource[$0] }
        }
        let background: Backdrop? =
            switch difference.background {
            case nil: background
            case .absent: nil
            case .image(let backdrop): backdrop
            }
        return Scene(
            canvas: difference.canvas ?? canvas, background: background, panes: panes,
            overlays: difference.overlays ?? overlays, sound: difference.sound ?? sound,
            transition: difference.transition)
    }
}
