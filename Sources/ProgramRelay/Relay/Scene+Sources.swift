import LayoutEngine
import MixModel

extension Scene {
    /// Returns whether viewers see or hear the source.
    func uses(_ source: SourceID) -> Bool {
        panes.contains { $0.source == source.rawValue } || sound.levels.contains { $0.source == source.rawValue }
    }

    /// Returns whether a participant is audible in this scene and not in the other.
    func isHeardLess(in other: Scene) -> Bool {
        let remaining = Set(other.sound.levels.map(\.source))
        return sound.levels.contains { !remaining.contains($0.source) }
    }

    /// Returns a scene with only one participant of this scene, over the whole canvas, like their bypass. All sources
    /// stay audible. A picture that this scene shows whole, such as a shared screen, is whole there, too. Returns `nil` if
    /// the participant is not visible in this scene.
    func opening(with source: SourceID) -> Scene? {
        guard var pane = panes.first(where: { $0.source == source.rawValue && $0.isLive }) else { return nil }
        (pane.x, pane.y, pane.width, pane.height) = (0, 0, canvas.width, canvas.height)
        if pane.fit != .contain { pane.fit = .cover }
        pane.opacity = .whole
        (pane.border, pane.speaking, pane.label) = (nil, nil, nil)
        (pane.radius, pane.shadow) = (nil, nil)
        return Scene(canvas: canvas, background: background, panes: [pane], sound: sound)
    }
}
