/// What turns one scene into another: what a running mixer has to change.
public struct SceneDifference: Hashable, Codable, Sendable {
    /// The new canvas where it differs.
    public var canvas: Canvas?
    /// Sources that lose their pane, in the order of the old scene.
    public var removed: [String]
    /// Panes of sources that had none.
    public var added: [Pane]
    /// Panes of sources that had another rectangle, `z` or fit.
    public var changed: [Pane]
    /// All sources of the new scene from back to front, where that is not what is left of the old order.
    public var order: [String]?

    public var isEmpty: Bool {
        canvas == nil && removed.isEmpty && added.isEmpty && changed.isEmpty && order == nil
    }
}

extension Scene {
    /// The difference that makes this scene of `old`. A source has at most one pane in each.
    public func difference(from old: Scene) -> SceneDifference {
        let before = Dictionary(old.panes.map { ($0.source, $0) }, uniquingKeysWith: { first, _ in first })
        let after = Set(panes.map(\.source))
        let removed = old.panes.map(\.source).filter { !after.contains($0) }
        let added = panes.filter { before[$0.source] == nil }
        let natural = old.panes.map(\.source).filter(after.contains) + added.map(\.source)
        let order = panes.map(\.source)
        return SceneDifference(
            canvas: canvas == old.canvas ? nil : canvas, removed: removed, added: added,
            changed: panes.filter { pane in before[pane.source].map { $0 != pane } ?? false },
            order: order == natural ? nil : order)
    }

    /// The scene that `difference` makes of this one; a difference of other scenes is applied as far as it fits.
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
        return Scene(canvas: difference.canvas ?? canvas, panes: panes)
    }
}
