import Foundation
import GStreamerKit
import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

/// Drawings of a mix, pixel by pixel. The canvas is BT.709; colours may be off by 3 of 255, as everywhere in the mix.
@Suite("What a mix draws", .timeLimit(.minutes(5)))
final class MixerDrawingTests {
    static let tolerance = 3
    static let canvas = Canvas(width: 320, height: 240, fps: 20, background: .grey)

    private func expect(
        _ frame: VideoFrame, _ x: Int, _ y: Int, _ colour: RGB, within tolerance: Int = tolerance,
        _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let found = frame.pixel(x, y)
        #expect(
            found.distance(to: colour) <= tolerance, "\(found) at \(x),\(y) is not \(colour): \(comment ?? "")",
            sourceLocation: sourceLocation)
    }

    private static func pane(
        _ user: String, _ x: Int, _ y: Int, _ width: Int, _ height: Int, z: Int = 0, fit: Pane.Fit = .cover
    ) -> Pane {
        Pane(source: "\(user)/camera", user: user, x: x, y: y, width: width, height: height, z: z, fit: fit)
    }

    /// Directory of image files, removed with the test.
    private let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "mixer-drawing-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Returns a PNG file of this drawing.
    private func image(_ svg: String, name: String) async throws -> String {
        let file = directory.appending(path: name)
        try Data(try await ImageDecoder.svg(svg).png()).write(to: file)
        return file.path
    }

    @Test("Borders lie inside the pane, over the picture, in their colour")
    func border() async throws {
        var stage = try MixerStage(Self.canvas)
        stage.sources["bob/camera"] = try MixerStage.picture(.ocean)
        var pane = Self.pane("bob", 40, 60, 100, 80)
        pane.border = Pane.Border(width: 6, colour: .brick)
        stage.show(Scene(canvas: Self.canvas, panes: [pane]))
        let frame = try await stage.next()
        for (x, y) in [(40, 60), (139, 60), (40, 139), (139, 139), (45, 100), (134, 100), (90, 65), (90, 134)] {
            expect(frame, x, y, .brick)
        }
        for (x, y) in [(46, 66), (133, 66), (46, 133), (133, 133), (90, 100)] { expect(frame, x, y, .ocean) }
        for (x, y) in [(38, 100), (140, 100), (90, 58), (90, 140)] { expect(frame, x, y, .grey) }
    }

    @Test("Panes that shine through do so as one, with what is behind them", arguments: [0.0, 0.25, 0.5, 0.9])
    func opacity(share: Double) async throws {
        var stage = try MixerStage(Self.canvas)
        stage.sources["alice/camera"] = try MixerStage.picture(.moss, width: 320, height: 240)
        // Half as wide as the pane: contained, it leaves a strip at either side.
        stage.sources["bob/camera"] = try MixerStage.picture(.ocean, width: 50, height: 100)
        var pane = Self.pane("bob", 100, 80, 100, 100, z: 1, fit: .contain)
        pane.opacity = UnitFraction(share)
        pane.border = Pane.Border(width: 4, colour: .brick)
        pane.label = Label(text: "", size: 10, background: .black, backgroundOpacity: .whole)
        stage.show(Scene(canvas: Self.canvas, panes: [Self.pane("alice", 0, 0, 320, 240), pane]))
        let frame = try await stage.next()
        expect(frame, 150, 120, .moss.under(.ocean, share), "the picture")
        expect(frame, 101, 120, .moss.under(.brick, share), "the border")
        expect(frame, 116, 120, .moss, "beside the picture")
        // Over the picture: its blue must not show through the label.
        expect(frame, 150, 170, .moss.under(.black, share), "the label")
        expect(frame, 98, 120, .moss, "beside the pane")
    }

    @Test("A label lies at its edge and shines through as it says, its text readable")
    func label() async throws {
        for edge in Label.Edge.allCases {
            var stage = try MixerStage(Self.canvas)
            stage.sources["bob/camera"] = try MixerStage.picture(.ocean)
            var pane = Self.pane("bob", 40, 20, 200, 160)
            pane.label = Label(
                text: "Bob", edge: edge, side: .left, size: 16, background: .brick, backgroundOpacity: UnitFraction(0.5)
            )
            stage.show(Scene(canvas: Self.canvas, panes: [pane]))
            let frame = try await stage.next()
            let (top, beyond) = edge == .top ? (20, 53) : (148, 146)
            // Right of the text.
            expect(frame, 236, top + 16, .ocean.under(.brick, 0.5))
            expect(frame, 236, top + 2, .ocean.under(.brick, 0.5))
            expect(frame, 236, beyond, .ocean)
            let brightest = (40..<120).map { frame.pixel($0, top + 16) }.map { Int($0.green) }.max() ?? 0
            #expect(brightest > 180, "white letters")
        }
    }

    @Test("Where there is no stream to show: the card, the image, the last picture, or what is behind")
    func fallbacks() async throws {
        let file = try await image(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"40\">"
                + "<rect width=\"40\" height=\"40\" fill=\"\(RGB.brick)\"/></svg>", name: "away.png")
        var stage = try MixerStage(Self.canvas)
        for user in ["a", "b", "c", "d"] { stage.sources[SourceID("\(user)/camera")] = try MixerStage.picture(.ocean) }
        let kinds: [Pane.Fallback] = [.card, .image(file), .lastFrame, .nothing]
        func scene(isLive: Bool) -> Scene {
            Scene(
                canvas: Self.canvas,
                panes: zip(["a", "b", "c", "d"], kinds).enumerated().map { index, kind in
                    var pane = Self.pane(kind.0, index * 80, 0, 80, 120)
                    pane.isLive = isLive
                    pane.fallback = kind.1
                    pane.card.colour = .moss
                    return pane
                })
        }
        stage.show(scene(isLive: true))
        let live = try await stage.next()
        for x in [4, 84, 164, 244] { expect(live, x, 4, .ocean) }
        stage.show(scene(isLive: false))
        // One frame passes while cards are drawn.
        expect(try await stage.next(), 4, 4, .ocean)
        // Their streams continue with black pictures, like cameras that are off.
        for user in ["a", "b", "c", "d"] { stage.sources[SourceID("\(user)/camera")] = try MixerStage.picture(.black) }
        for _ in 0..<3 {
            let away = try await stage.next()
            expect(away, 4, 4, .moss)
            expect(away, 84, 4, .brick)
            expect(away, 164, 4, .ocean)
            expect(away, 244, 4, .grey)
        }
        // Initials in the middle of the card.
        let frame = try await stage.next()
        let brightest = (20..<60).flatMap { x in (40..<80).map { Int(frame.pixel(x, $0).red) } }.max() ?? 0
        #expect(brightest > 180)
        // A participant who was never seen has a card instead of a last picture.
        var nobody = Self.pane("eve", 0, 0, 80, 120)
        nobody.isLive = false
        nobody.card.colour = .brick
        stage.show(Scene(canvas: Self.canvas, panes: [nobody]))
        expect(try await stage.frame(after: 2), 4, 4, .brick)
    }

    @Test("A stalled stream gives way to its fallback and comes back with its next picture")
    func stall() async throws {
        var stage = try MixerStage(Self.canvas)
        stage.sources["alice/camera"] = try MixerStage.picture(.moss)
        stage.sources["bob/camera"] = try MixerStage.picture(.ocean)
        var pane = Self.pane("bob", 160, 0, 160, 240)
        pane.fallback = .card
        pane.card.colour = .brick
        stage.show(Scene(canvas: Self.canvas, panes: [Self.pane("alice", 0, 0, 160, 240), pane]))
        _ = try await stage.next()
        stage.sources["bob/camera"] = nil
        let last = stage.now
        var changed: MediaTime?
        for _ in 0..<80 {
            let frame = try await stage.next()
            expect(frame, 10, 10, .moss)
            if frame.pixel(170, 10).distance(to: .brick) <= Self.tolerance {
                changed = changed ?? stage.now
            } else {
                expect(frame, 170, 10, .ocean, "the last picture until then")
                #expect(changed == nil)
            }
        }
        let silence = try #require(changed) - last
        #expect(silence >= .milliseconds(2000) && silence < .milliseconds(2160))
        stage.sources["bob/camera"] = try MixerStage.picture(.ocean)
        expect(try await stage.next(), 170, 10, .ocean)
        // The end of a stream is known at once.
        stage.sources["bob/camera"] = nil
        stage.state.end("bob/camera")
        _ = try await stage.next()
        expect(try await stage.next(), 170, 10, .brick)
        // Its successor shows nothing of its own until it has a picture.
        stage.state.begin("bob/camera")
        expect(try await stage.next(), 170, 10, .brick)
        stage.sources["bob/camera"] = try MixerStage.picture(.moss)
        expect(try await stage.next(), 170, 10, .moss)
    }

    @Test("An image that cannot be shown gives way to the card, and is told of")
    func brokenImage() async throws {
        var stage = try MixerStage(Self.canvas)
        var pane = Self.pane("bob", 0, 0, 160, 240)
        pane.isLive = false
        pane.fallback = .image("/nonexistent/away.png")
        pane.card.colour = .moss
        let watermark = Overlay(
            id: "logo", x: 200, y: 0, width: 40, height: 40, content: .image("/nonexistent/logo.png", align: .centre))
        stage.show(
            Scene(
                canvas: Self.canvas, background: Scene.Backdrop(image: "/nonexistent/back.png"), panes: [pane],
                overlays: [watermark]))
        let frame = try await stage.next()
        expect(frame, 4, 4, .moss)
        expect(frame, 300, 100, .grey)
        expect(frame, 220, 20, .grey)
        #expect(stage.failures.count == 3)
        #expect(stage.failures.allSatisfy { $0.message.contains("/nonexistent/") }, "\(stage.failures)")
    }

    @Test("Where nothing can be drawn at all, a pane has its card's colour: never what is behind")
    func nothingDrawn() async throws {
        var stage = try MixerStage(Self.canvas)
        stage.draws = false
        var pane = Self.pane("bob", 0, 0, 160, 240)
        pane.card.colour = .moss
        stage.show(Scene(canvas: Self.canvas, panes: [pane]))
        expect(try await stage.next(), 4, 4, .moss)
        #expect(stage.now <= MixState.Patience.start)
    }

    @Test("A backdrop covers the canvas behind the panes", arguments: Pane.Fit.allCases)
    func backdrop(fit: Pane.Fit) async throws {
        // Twice as wide as high: red, blue, red.
        let file = try await image(
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="480" height="240"><rect width="480" height="240" \
            fill="\(RGB.brick)"/><rect x="120" width="240" height="240" fill="\(RGB.ocean)"/></svg>
            """, name: "backdrop.png")
        var stage = try MixerStage(Self.canvas)
        stage.sources["bob/camera"] = try MixerStage.picture(.moss)
        stage.show(
            Scene(
                canvas: Self.canvas, background: Scene.Backdrop(image: file, fit: fit),
                panes: [Self.pane("bob", 100, 80, 100, 80)]))
        let frame = try await stage.next()
        expect(frame, 150, 120, .moss)
        switch fit {
        case .cover:
            for (x, y) in [(2, 2), (30, 200), (290, 2)] { expect(frame, x, y, x < 36 || x > 283 ? .brick : .ocean) }
            expect(frame, 60, 120, .ocean)
        case .contain:
            expect(frame, 2, 20, .grey)
            expect(frame, 2, 120, .brick)
            expect(frame, 90, 120, .ocean)
            expect(frame, 2, 220, .grey)
        case .stretch:
            expect(frame, 2, 2, .brick)
            expect(frame, 90, 2, .ocean)
            expect(frame, 317, 237, .brick)
        }
    }

    @Test("Watermarks keep their shape, their place and their colour up to the edge")
    func watermark() async throws {
        // A disc on transparent black, scaled down to a quarter: its edge must not darken.
        let file = try await image(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"160\" height=\"160\">"
                + "<circle cx=\"80\" cy=\"80\" r=\"80\" fill=\"white\"/></svg>", name: "logo.png")
        let canvas = Canvas(width: 320, height: 240, fps: 20, background: .white)
        var stage = try MixerStage(canvas)
        func overlay(_ align: Pane.Alignment, x: Int) -> Overlay {
            Overlay(id: "\(x)", x: x, y: 20, width: 80, height: 40, content: .image(file, align: align))
        }
        stage.show(Scene(canvas: canvas, panes: [], overlays: [overlay(.right, x: 20), overlay(.left, x: 200)]))
        let onWhite = try await stage.next()
        for x in stride(from: 0, to: 320, by: 3) {
            for y in stride(from: 10, to: 70, by: 3) { expect(onWhite, x, y, .white) }
        }
        var dark = try MixerStage(Self.canvas)
        var faint = overlay(.left, x: 200)
        faint.opacity = UnitFraction(0.5)
        dark.show(Scene(canvas: Self.canvas, panes: [], overlays: [overlay(.right, x: 20), faint]))
        let onGrey = try await dark.next()
        expect(onGrey, 80, 40, .white, "to the right of its rectangle")
        expect(onGrey, 40, 40, .grey)
        expect(onGrey, 220, 40, .grey.under(.white, 0.5), "to the left, half")
        expect(onGrey, 260, 40, .grey)
    }

    @Test("Texts and clocks: the next second is there when it begins, and something is shown at every frame")
    func clock() async throws {
        var stage = try MixerStage(Self.canvas)
        let style = TextStyle(size: 30, align: .left, background: .brick)
        let clock = Overlay(
            id: "clock", x: 20, y: 20, width: 200, height: 60, content: .clock(.time, utcOffset: 60, style))
        stage.show(Scene(canvas: Self.canvas, panes: [], overlays: [clock]))
        var faces: [ObjectIdentifier] = []
        for index in 0..<65 {
            // A drawing due in the middle of a second was ordered in the second before.
            stage.draws = index % 20 < 10
            let frame = try await stage.next()
            expect(frame, 215, 24, .brick)
            faces.append(ObjectIdentifier(try #require(stage.composition?.layers.first?.picture)))
        }
        let changes = faces.indices.dropFirst().filter { faces[$0] != faces[$0 - 1] }
        #expect(changes == [20, 40, 60])
        let minutes = Overlay(
            id: "clock", x: 20, y: 20, width: 200, height: 60, content: .clock(.minutes, utcOffset: 0, style))
        #expect(Graphic(minutes, time: 119) == Graphic(minutes, time: 60))
        #expect(Graphic(minutes, time: 120) != Graphic(minutes, time: 119))
        let date = Overlay(
            id: "clock", x: 20, y: 20, width: 200, height: 60, content: .clock(.date, utcOffset: -90, style))
        #expect(Graphic(date, time: 86_400 + 5399) == Graphic(date, time: 5400))
        #expect(Graphic(date, time: 86_400 + 5400) != Graphic(date, time: 86_400 + 5399))
        #expect(Graphic(date, time: -1) != Graphic(date, time: 5400))
    }

    @Test("A hundred scenes with graphics of their own keep no more than there is room for")
    func memory() async throws {
        var stage = try MixerStage(Self.canvas)
        for index in 0..<100 {
            var pane = Self.pane("user\(index)", 0, 0, 320, 240)
            pane.isLive = false
            pane.label = Label(text: "user \(index)", size: 20)
            stage.show(Scene(canvas: Self.canvas, panes: [pane]))
            _ = try await stage.next()
        }
        let all = stage.state.shelf.byteCount
        #expect(all <= GraphicShelf.spareBytes)
        // Small graphics are kept for scenes that return; large ones are discarded.
        var shelf = GraphicShelf()
        for index in 0..<100 as Range<Int64> {
            let frame = try MixerStage.picture(.brick, width: 1280, height: 1280).frame
            let graphic = Graphic.image("\(index)")
            _ = shelf.still(graphic, tick: index)
            #expect(shelf.takeOrder() == graphic)
            shelf.deliver(.picture(frame), for: graphic)
            shelf.sweep(unusedSince: index)
            #expect(shelf.byteCount <= GraphicShelf.spareBytes + 1280 * 1280 * 3 / 2)
        }
        #expect(shelf.still(.image("99"), tick: 100) != nil)
    }
}
