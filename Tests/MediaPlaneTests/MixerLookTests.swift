import EncodedMedia
import GStreamerKit
import LayoutEngine
import MixModel
import Testing

@testable import ProgramMixer

/// Corners, shadows, backgrounds and rings on frames of the real composer.
@Suite("The look of panes on air", .timeLimit(.minutes(3)))
struct MixerLookTests {
    private static let canvas = Canvas(width: 320, height: 240, fps: 20, background: .grey)
    private static let tolerance = 6

    private static func pane(_ user: String, _ x: Int, _ y: Int, _ width: Int, _ height: Int) -> Pane {
        Pane(
            source: "\(user)/camera", user: user, x: x, y: y, width: width, height: height,
            card: Card(name: "", initials: "", colour: .moss))
    }

    private func expect(
        _ frame: VideoFrame, _ x: Int, _ y: Int, _ colour: RGB, _ comment: Comment? = nil,
        location: SourceLocation = #_sourceLocation
    ) {
        let pixel = frame.pixel(x, y)
        #expect(
            pixel.distance(to: colour) <= Self.tolerance, "(\(x), \(y)): \(pixel), not \(colour); \(comment ?? "")",
            sourceLocation: location)
    }

    private func stage(_ canvas: Canvas = Self.canvas) throws -> MixerStage {
        var stage = try MixerStage(canvas)
        stage.sources["alice/camera"] = try MixerStage.picture(.moss)
        stage.sources["bob/camera"] = try MixerStage.picture(.ocean)
        return stage
    }

    @Test("Corners show what is behind the pane, on all four sides, and nothing else changes")
    func corners() async throws {
        var stage = try stage()
        var pane = Self.pane("alice", 40, 40, 160, 120)
        pane.radius = 30
        stage.show(Scene(canvas: Self.canvas, panes: [pane]))
        for _ in 0..<3 {
            let frame = try await stage.next()
            for (x, y) in [(41, 41), (198, 41), (41, 158), (198, 158)] { expect(frame, x, y, .grey) }
            for (x, y) in [(41, 100), (198, 100), (120, 41), (120, 158), (52, 52), (120, 100)] {
                expect(frame, x, y, .moss)
            }
            // A pixel on the arc has a mix of the two colours.
            let edge = (40..<70).map { frame.pixel($0, 44) }
            #expect(edge.contains { $0.distance(to: .grey) > 20 && $0.distance(to: .moss) > 20 }, "smooth")
        }
    }

    @Test("Corners of a pane over another one show that one; a translucent pane has corners, too")
    func cornersOverAPane() async throws {
        var stage = try stage()
        var top = Self.pane("bob", 80, 60, 100, 80)
        (top.radius, top.z) = (30, 1)
        stage.show(Scene(canvas: Self.canvas, panes: [Self.pane("alice", 0, 0, 320, 240), top]))
        let frame = try await stage.next()
        expect(frame, 81, 61, .moss)
        expect(frame, 178, 138, .moss)
        expect(frame, 130, 100, .ocean)
        top.opacity = UnitFraction(0.5)
        stage.show(Scene(canvas: Self.canvas, panes: [Self.pane("alice", 0, 0, 320, 240), top]))
        let faint = try await stage.frame(after: 2)
        expect(faint, 81, 61, .moss)
        expect(faint, 130, 100, .moss.under(.ocean, 0.5))
    }

    @Test("A contained picture is surrounded by itself, darker and blurred, within the corners of its pane")
    func surround() async throws {
        var stage = try stage()
        var pane = Self.pane("alice", 40, 40, 200, 100)
        (pane.fit, pane.radius) = (.contain, 20)
        pane.surround = Surround(blur: 12, dim: UnitFraction(0.5))
        stage.show(Scene(canvas: Self.canvas, panes: [pane]))
        for _ in 0..<2 {
            let frame = try await stage.next()
            // The picture is square: 100 pixels in the middle.
            for (x, y) in [(92, 42), (140, 90), (187, 137)] { expect(frame, x, y, .moss) }
            for (x, y) in [(60, 90), (220, 90), (42, 70), (236, 110)] { expect(frame, x, y, .moss.under(.black, 0.5)) }
            for (x, y) in [(41, 41), (238, 138), (38, 90), (242, 90), (140, 38), (140, 142)] {
                expect(frame, x, y, .grey)
            }
        }
        // A picture with the pane's aspect ratio leaves no room, and neither does a pane with `cover`.
        pane.radius = nil
        for (width, fit) in [(100, Pane.Fit.contain), (200, .cover)] {
            (pane.width, pane.fit) = (width, fit)
            stage.show(Scene(canvas: Self.canvas, panes: [pane]))
            let frame = try await stage.frame(after: 2)
            for x in [42, 40 + width / 2, 37 + width] { expect(frame, x, 90, .moss) }
        }
    }

    @Test("What surrounds a picture follows it, softly", arguments: [0, 4, 60])
    func surroundIsBlurred(blur: Int) async throws {
        // Black at the left, white at the right, and four times as high as wide.
        let halves = try MixerStage.picture(.black, width: 64, height: 256)
        halves.frame.fill(VideoRect(x: 32, y: 0, width: 32, height: 256), y: 235, u: 128, v: 128)
        var stage = try stage()
        stage.sources["alice/camera"] = halves
        var pane = Self.pane("alice", 0, 0, 320, 240)
        pane.fit = .contain
        pane.surround = Surround(blur: blur, dim: .zero)
        stage.show(Scene(canvas: Self.canvas, panes: [pane]))
        let frame = try await stage.next()
        // The picture itself: 60 pixels from 130 on.
        expect(frame, 136, 120, .black)
        expect(frame, 184, 120, .white)
        // Beside it the same halves fill the pane; far from the middle the blur has no effect.
        expect(frame, 4, 120, .black)
        expect(frame, 315, 120, .white)
        let row = (Array(0..<130) + Array(190..<320)).map { frame.pixel($0, 60).red }
        #expect(row == row.sorted(), "it becomes brighter from left to right")
        #expect((row[129] > 8) == (blur == 60), "softly: \(row[129])")
    }

    @Test("A border follows the corner, inside and outside, and cards are cut as well")
    func border() async throws {
        var stage = try stage()
        var pane = Self.pane("alice", 40, 40, 160, 120)
        (pane.radius, pane.border) = (40, .init(width: 8, colour: .brick))
        var card = Self.pane("eve", 220, 40, 80, 80)
        (card.isLive, card.radius) = (false, 40)
        stage.show(Scene(canvas: Self.canvas, panes: [pane, card]))
        let frame = try await stage.next()
        // On the diagonal: outside, border, picture. The arc is 40·(1 − 1/√2) = 11.7 pixels from the corner.
        expect(frame, 48, 48, .grey)
        expect(frame, 54, 54, .brick)
        expect(frame, 62, 62, .moss)
        for (x, y) in [(43, 100), (196, 100), (120, 43), (120, 156)] { expect(frame, x, y, .brick) }
        for (x, y) in [(50, 100), (189, 100), (120, 50)] { expect(frame, x, y, .moss) }
        expect(frame, 224, 44, .grey)
        expect(frame, 297, 117, .grey)
    }

    @Test("Every size of pane and radius is drawn inside the pane", arguments: [2, 6, 10, 22, 62])
    func smallPanes(side: Int) async throws {
        for radius in [1, 2, 3, 5, side / 2, side, 400] where radius > 0 {
            var stage = try stage()
            var pane = Self.pane("alice", 100, 100, side, side)
            (pane.radius, pane.border) = (radius, .init(width: 4, colour: .brick))
            pane.shadow = Shadow(blur: 20, offset: 6, opacity: .zero)
            stage.show(Scene(canvas: Self.canvas, panes: [pane]))
            let frame = try await stage.frame(after: 2)
            for (x, y) in [(97, 100), (100, 97), (101 + side, 100), (100, 101 + side)] {
                expect(frame, x, y, .grey, "\(side), \(radius)")
            }
        }
    }

    @Test("A shadow darkens the ground, softly and below the pane, and no pane beside it")
    func shadow() async throws {
        var stage = try stage()
        var left = Self.pane("alice", 40, 40, 100, 100)
        left.shadow = Shadow(blur: 24, offset: 8, opacity: UnitFraction(0.8))
        (left.radius, left.z) = (10, 0)
        var right = Self.pane("bob", 144, 40, 100, 100)
        right.shadow = left.shadow
        stage.show(Scene(canvas: Self.canvas, panes: [left, right]))
        var earlier: RGB?
        // The first frame draws it, the second keeps it, later ones copy it.
        for _ in 0..<4 {
            let frame = try await stage.next()
            expect(frame, 134, 90, .moss, "no shadow of the right pane on the left one")
            expect(frame, 150, 90, .ocean)
            expect(frame, 10, 200, .grey, "far away")
            let (near, far) = (frame.pixel(90, 144).red, frame.pixel(90, 160).red)
            #expect(near < 90 && far > near + 20 && far < 128, "\(near), \(far)")
            #expect(frame.pixel(90, 36).red > frame.pixel(90, 144).red, "lower than the pane")
            #expect(earlier.map { $0 == frame.pixel(90, 150) } ?? true)
            earlier = frame.pixel(90, 150)
        }
        // Without the shadow, the background is as before.
        (left.shadow, right.shadow) = (nil, nil)
        stage.show(Scene(canvas: Self.canvas, panes: [left, right]))
        expect(try await stage.frame(after: 2), 90, 144, .grey)
    }

    @Test("The shadow of a pane over another one falls on that one")
    func floatingShadow() async throws {
        var stage = try stage()
        var top = Self.pane("bob", 100, 80, 100, 80)
        (top.shadow, top.z) = (Shadow(blur: 24, offset: 8, opacity: UnitFraction(0.8)), 1)
        stage.show(Scene(canvas: Self.canvas, panes: [Self.pane("alice", 0, 0, 320, 240), top]))
        for _ in 0..<3 {
            let frame = try await stage.next()
            #expect(frame.pixel(150, 164).green < 90)
            expect(frame, 10, 10, .moss)
            expect(frame, 150, 120, .ocean)
        }
    }

    @Test("A gradient runs from its first colour to its second, without bands wider than needed")
    func gradient() async throws {
        var stage = try stage()
        let gradient = Gradient(from: .brick, to: .ocean, angle: 90)
        stage.show(
            Scene(
                canvas: Self.canvas, background: .init(gradient), panes: [Self.pane("alice", 100, 100, 40, 40)]))
        let frame = try await stage.next()
        expect(frame, 1, 1, .brick)
        expect(frame, 318, 238, .ocean)
        expect(frame, 160, 20, .brick.under(.ocean, 0.5))
        expect(frame, 120, 120, .moss)
        // A slow gradient of luma is dithered: neighbouring values alternate.
        let slow = Gradient(from: .black, to: RGB(red: 12, green: 12, blue: 12), angle: 90)
        stage.show(Scene(canvas: Self.canvas, background: .init(slow), panes: []))
        let dark = try await stage.frame(after: 2)
        let rows = dark.plane(0)
        let changes = (1..<320).filter { rows[$0] != rows[$0 - 1] }.count
        #expect(changes > 40, "\(changes) changes in a row")
    }

    @Test("A pane that grows from the whole canvas gets its corners on the way")
    func transition() async throws {
        var stage = try stage()
        stage.show(Scene(canvas: Self.canvas, panes: [Self.pane("alice", 0, 0, 320, 240)]))
        expect(try await stage.next(), 1, 1, .moss)
        var small = Self.pane("alice", 80, 60, 160, 120)
        (small.radius, small.shadow) = (40, Shadow(blur: 20, offset: 4))
        stage.show(
            Scene(canvas: Self.canvas, panes: [small], transition: Transition(duration: 500, easing: .linear)))
        for _ in 0..<9 {
            let frame = try await stage.next()
            let pane = try #require(stage.composition?.panes.first?.pane)
            if pane.radius ?? 0 >= 16 {
                #expect(frame.pixel(pane.x + 1, pane.y + 1).distance(to: .moss) > 60, "\(pane.x)")
            }
            expect(frame, pane.x + pane.width / 2, pane.y + 1, .moss)
        }
        let last = try await stage.frame(after: 3)
        #expect(last.pixel(81, 61).distance(to: .moss) > 60)
        expect(last, 120, 62, .moss)
    }

    @Test("The rest of a shared screen that does not fill its pane stays empty, and its own corners are round")
    func containedScreen() async throws {
        var stage = try stage()
        stage.sources["alice/camera"] = try MixerStage.picture(.moss, width: 128, height: 64)
        var pane = Self.pane("alice", 60, 20, 200, 200)
        (pane.fit, pane.radius) = (.contain, 20)
        stage.show(Scene(canvas: Self.canvas, panes: [pane]))
        let frame = try await stage.next()
        expect(frame, 61, 71, .grey, "the picture's own corner")
        expect(frame, 160, 72, .moss)
        expect(frame, 160, 40, .grey)
    }

    @Test("A speaker's pane has the ring while they speak")
    func speakers() async throws {
        var stage = try stage()
        var pane = Self.pane("alice", 40, 40, 160, 120)
        pane.speaking = .init(width: 8, colour: .brick)
        stage.show(Scene(canvas: Self.canvas, panes: [pane]))
        expect(try await stage.next(), 43, 100, .moss)
        for _ in 0..<5 { stage.state.speakers.take(["alice/camera": 0.1]) }
        expect(try await stage.next(), 43, 100, .brick)
        for _ in 0..<60 { stage.state.speakers.take(["alice/camera": 0]) }
        expect(try await stage.next(), 43, 100, .moss)
    }

    @Test("Free parts of a canvas and panes cover it without overlaps")
    func freeArea() {
        let covered = [
            VideoRect(x: 0, y: 0, width: 10, height: 10), VideoRect(x: 20, y: 4, width: 10, height: 10),
            VideoRect(x: 5, y: 8, width: 20, height: 4), VideoRect(x: 28, y: -5, width: 50, height: 8),
        ]
        var counts = [Int](repeating: 0, count: 40 * 20)
        for rect in FreeArea.of(width: 40, height: 20, covered: covered) {
            for y in rect.y..<rect.y + rect.height { for x in rect.x..<rect.x + rect.width { counts[y * 40 + x] += 1 } }
        }
        for y in 0..<20 {
            for x in 0..<40 {
                let isCovered = covered.contains { rect in
                    rect.x..<rect.x + rect.width ~= x && rect.y..<rect.y + rect.height ~= y
                }
                #expect(counts[y * 40 + x] == (isCovered ? 0 : 1), "(\(x), \(y))")
            }
        }
    }
}
