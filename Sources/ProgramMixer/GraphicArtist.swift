import GStreamerKit
import LayoutEngine
import MixModel

/// Draws the graphics that a mix has ordered, one after another, in parallel to the thread that makes its frames.
///
/// Owns its task: `stop()` ends it and waits for the graphic being drawn.
final class GraphicArtist: Sendable {
    private let bell: AsyncStream<Void>.Continuation
    private let work: Task<Void, Never>
    private let pages: PagePictures

    /// Creates an artist and starts its task.
    /// - Parameter report: Called with a message for each image or reason that prevents a graphic, and for each text
    ///   that is drawn with boxes, on any thread.
    init(shared: MixShared, easel: Easel, report: @escaping @Sendable (MixerReport) -> Void) {
        let (rings, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.bell = bell
        pages = PagePictures(shared: shared, easel: easel)
        work = Task(priority: .utility) {
            var reported: Set<String> = []
            func tell(_ code: String, _ message: String) {
                if reported.count < Self.mostReported, reported.insert(message).inserted {
                    report(.note(code: code, message: message))
                }
            }
            for await _ in rings {
                while !Task.isCancelled, let graphic = shared.look({ $0.shelf.takeOrder() }) {
                    do throws(GStreamerError) {
                        let still = try await easel.draw(graphic)
                        shared.change { $0.shelf.deliver(still, for: graphic) }
                    } catch {
                        shared.change { $0.shelf.deliver(nil, for: graphic) }
                        // The picture of a page that is not shown yet does not exist, and will follow.
                        if case .page = graphic { continue }
                        let note = Self.note(graphic, error)
                        tell(note.code, note.message)
                    }
                    if let warning = await Self.warning(graphic) { tell("glyphs-missing", warning) }
                }
            }
        }
    }

    /// Largest number of reasons that one mixer reports.
    private static let mostReported = 32

    /// Tells the artist that a graphic has been ordered. Safe to call from any thread.
    func ring() { bell.yield() }

    func stop() async {
        bell.finish()
        work.cancel()
        await work.value
        await pages.stop()
    }

    /// Returns the warning for a text that the installed fonts cannot draw completely; `nil` if there is none.
    private static func warning(_ graphic: Graphic) async -> String? {
        let text: String
        switch graphic {
        case .card(let card, let notice, _, _):
            // Every usable font has the ellipsis of the usual notice.
            let own = notice.map(\.text).flatMap { $0 == Pane.usualReconnecting ? nil : $0 }
            text = card.name + (own ?? "")
        case .label(let label, _): text = label.text
        case .text(.text(let words, _), _, _, _): text = words
        case .text, .image, .backdrop, .watermark, .page: return nil
        }
        // Every usable font contains these.
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return nil }
        let missing = await FontCoverage.load().missing(in: text)
        guard !missing.isEmpty else { return nil }
        let codes = missing.map { "U+" + String($0.value, radix: 16, uppercase: true) }.joined(separator: ", ")
        let start = String(text.unicodeScalars.prefix(40))
        return "“\(start)” has characters that no installed font has (\(codes)), boxes are shown for them: run "
            + "deploy/setup.sh --fonts, or install a font that has them"
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
