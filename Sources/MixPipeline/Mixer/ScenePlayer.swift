import LayoutEngine
import MixModel

/// What the canvas shows at each of its frames: a scene, or the way to it from what was shown before.
///
/// Pure. Time is counted in frames of the canvas, so that a mix that is late shows the same pictures as one that is not.
struct ScenePlayer: Sendable {
    /// What is shown, or where the way leads.
    private(set) var scene: Scene
    private var transition: SceneTransition?
    /// The first frame that shows something of `scene`, and the number of frames until it is shown alone.
    private var start: Int64 = 0
    private var length: Int64 = 0

    init(_ scene: Scene) { self.scene = scene }

    /// What the frame `tick` shows.
    func picture(at tick: Int64) -> Scene {
        guard let transition, tick - start + 1 < length else { return scene }
        // The first frame is on its way already: it would otherwise show what was there before once more.
        return transition.scene(at: UnitFraction(Double(max(tick - start + 1, 0)) / Double(length)))
    }

    /// True while the frame `tick` shows something between two scenes.
    func isMoving(at tick: Int64) -> Bool { transition != nil && tick - start + 1 < length }

    /// Goes to another scene from frame `tick` on. What is shown then is where it begins, be it the middle of a
    /// transition; one that would lead to the same picture goes on undisturbed.
    mutating func change(to new: Scene, at tick: Int64) {
        defer { scene = new }
        guard !scene.looksLike(new) else { return }
        length = Int64(new.transition.duration * new.canvas.fps + 500) / 1000
        transition = length > 1 ? SceneTransition(from: picture(at: tick - 1), to: new) : nil
        start = tick
    }

    /// Lets go of a transition that has ended.
    mutating func settle(at tick: Int64) {
        if !isMoving(at: tick) { transition = nil }
    }
}

extension Scene {
    /// Whether the picture is the same; what is heard and how scenes follow each other may differ.
    fileprivate func looksLike(_ other: Scene) -> Bool {
        canvas == other.canvas && background == other.background && panes == other.panes && overlays == other.overlays
    }
}
