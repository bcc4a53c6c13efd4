import LayoutEngine

/// The scene that the canvas shows at each of its frames, and the transitions between scenes. Pure.
///
/// Time is counted in frames of the canvas, so that a late mix shows the same pictures as one in time.
struct ScenePlayer: Sendable {
    /// The scene that is shown, or to which the transition leads.
    private(set) var scene: Scene
    private var transition: SceneTransition?
    /// First frame of the transition to `scene`. `length`: number of frames until `scene` is shown alone.
    private var start: Int64 = 0
    private var length: Int64 = 0

    init(_ scene: Scene) { self.scene = scene }

    /// Returns the scene that the frame `tick` shows.
    func picture(at tick: Int64) -> Scene {
        guard let transition, tick - start + 1 < length else { return scene }
        // The first frame already moves, because it would otherwise repeat the previous picture.
        return transition.scene(at: UnitFraction(Double(max(tick - start + 1, 0)) / Double(length)))
    }

    /// Returns whether the frame `tick` shows a state between two scenes.
    func isMoving(at tick: Int64) -> Bool { transition != nil && tick - start + 1 < length }

    /// Changes to another scene from frame `tick` on. The transition starts from the current picture, even in the
    /// middle of another one. A running transition to the same picture continues undisturbed.
    mutating func change(to new: Scene, at tick: Int64) {
        defer { scene = new }
        guard !scene.looksLike(new) else { return }
        length = Int64(new.transition.duration * new.canvas.fps + 500) / 1000
        transition = length > 1 ? SceneTransition(from: picture(at: tick - 1), to: new) : nil
        start = tick
    }

    /// Drops a transition that has ended.
    mutating func settle(at tick: Int64) {
        if !isMoving(at: tick) { transition = nil }
    }
}

extension Scene {
    /// Returns whether the pictures are the same. Sound and transitions may differ.
    fileprivate func looksLike(_ other: Scene) -> Bool {
        canvas == other.canvas && background == other.background && panes == other.panes && overlays == other.overlays
    }
}
