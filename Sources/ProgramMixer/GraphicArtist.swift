import GStreamerKit
import MixModel

/// Draws the graphics that a mix has ordered, one after another, beside the thread that makes its frames.
///
/// Owns its task: `stop()` ends it and waits for the graphic being drawn.
final class GraphicArtist: Sendable {
    private let bell: AsyncStream<Void>.Continuation
    private let work: Task<Void, Never>

    /// Creates an artist and starts its task.
    /// - Parameter report: Takes a note for each image or reason that prevents a graphic; called on any thread.
    init(shared: MixShared, easel: Easel, report: @escaping @Sendable (MixerReport) -> Void) {
        let (rings, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.bell = bell
        work = Task(priority: .utility) {
            var told: Set<String> = []
            for await _ in rings {
                while !Task.isCancelled, let graphic = shared.look({ $0.shelf.takeOrder() }) {
                    do throws(GStreamerError) {
                        let still = try await easel.draw(graphic)
                        shared.change { $0.shelf.deliver(still, for: graphic) }
                    } catch {
                        shared.change { $0.shelf.deliver(nil, for: graphic) }
                        let note = Self.note(graphic, error)
                        if told.count < Self.mostTold, told.insert(note.message).inserted {
                            report(.note(code: note.code, message: note.message))
                        }
                    }
                }
            }
        }
    }

    /// Most reasons that one mixer reports.
    private static let mostTold = 32

    /// Tells the artist that a graphic has been ordered. Safe to call from any thread.
    func ring() { bell.yield() }

    func stop() async {
        bell.finish()
        work.cancel()
        await work.value
    }

    private static func note(_ graphic: Graphic, _ error: GStreamerError) -> (code: String, message: String) {
        if graphic.file != nil {
            return (
                "image-failed",
                "an image of the layout cannot be shown: \(error.message); a card or nothing is shown in its place until "
                    + "the layout names another"
            )
        }
        return (
            "graphics-failed",
            "cards, labels and texts cannot be drawn: \(error.message); plain colours are shown in their place"
        )
    }
}
