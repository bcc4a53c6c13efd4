import Foundation
import LayoutEngine

/// Reads scenes from JSON documents: a scene, a list of scenes, or a task as the service reports it.
public enum SceneDocument {
    /// - Parameter canvas: Canvas for documents that do not give one.
    /// - Returns: The scenes; none if a task shows no scene. A document with a pane that does not specify how its
    ///   picture is fitted is returned in both ways, as two scenes. The canvas of a task that renders fewer frames
    ///   because of the machine's load has the frame rate that the task reports, in whole frames.
    public static func scenes(_ data: Data, canvas: Canvas = .portrait) throws -> [Scene] {
        let decoder = JSONDecoder()
        if let list = try? decoder.decode([LooseScene].self, from: data) { return list.flatMap { $0.scenes(canvas) } }
        if let scene = try? decoder.decode(LooseScene.self, from: data) { return scene.scenes(canvas) }
        let task = try decoder.decode(LooseTask.self, from: data)
        var scenes = task.scene?.scenes(task.canvas ?? canvas) ?? []
        if let degradation = task.degradation {
            for index in scenes.indices {
                scenes[index].canvas.fps = min(scenes[index].canvas.fps, max(1, Int(degradation.fps)))
            }
        }
        return scenes
    }

    private struct LooseTask: Decodable {
        var scene: LooseScene?
        var canvas: Canvas?
        var degradation: Degradation?

        struct Degradation: Decodable {
            /// Frames rendered per second.
            var fps: Double
        }
    }

    private struct LooseScene: Decodable {
        var canvas: Canvas?
        var panes: [LoosePane]
        var transition: Transition?

        func scenes(_ fallback: Canvas) -> [Scene] {
            let fits: [Pane.Fit] = panes.contains { $0.fit == nil } ? [.cover, .contain] : [.cover]
            return fits.map { fit in
                Scene(
                    canvas: canvas ?? fallback, panes: panes.map { $0.pane(fit) }, transition: transition ?? .cut)
            }
        }
    }

    private struct LoosePane: Decodable {
        var source: String?
        var user: String?
        var x: Int
        var y: Int
        var width: Int
        var height: Int
        var z: Int?
        var fit: Pane.Fit?

        func pane(_ fallback: Pane.Fit) -> Pane {
            Pane(
                source: source ?? "", user: user ?? "", x: x, y: y, width: width, height: height, z: z ?? 0,
                fit: fit ?? fallback)
        }
    }
}
