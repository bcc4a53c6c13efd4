import Foundation
import GStreamerKit
import LayoutEngine
import MixModel
import Testing
import EncodedMedia

@testable import ProgramMixer

/// Costs of composing. They mean nothing in a build without optimisation, so the test runs only on request:
/// `MIX_MEASURE=1 swift test -c release -Xswiftc -enable-testing --filter MixerCostTests`.
@Suite("What composing costs", .enabled(if: ProcessInfo.processInfo.environment["MIX_MEASURE"] != nil), .serialized)
struct MixerCostTests {
    private struct Case {
        var name: String
        var canvas: Canvas
        var people: Int
        /// Size of the participants' pictures.
        var size: (width: Int, height: Int)
        /// Scenes in succession, each for the same number of frames.
        var scenes: [Scene]
        var frames: Int
    }

    private static func pane(_ index: Int, _ x: Int, _ y: Int, _ width: Int, _ height: Int) -> Pane {
        Pane(source: "user\(index)/camera", user: "user \(index)", x: x, y: y, width: width, height: height)
    }

    /// Returns columns and rows of equal panes.
    private static func grid(_ canvas: Canvas, _ columns: Int, _ rows: Int) -> [Pane] {
        let (width, height) = (canvas.width / columns / 2 * 2, canvas.height / rows / 2 * 2)
        return (0..<columns * rows).map { index in
            pane(index, index % columns * width, index / columns * height, width, height)
        }
    }

    private static func labelled(_ panes: [Pane]) -> [Pane] {
        panes.map { pane in
            var pane = pane
            pane.label = Label(text: pane.user, size: 18)
            return pane
        }
    }

    /// The built-in layout, its panes alone with names in bars, and with all participants speaking.
    private static func automatic(_ canvas: Canvas, people: Int, size: (width: Int, height: Int)) -> [Case] {
        let crowd = (0..<people).map { index in
            LayoutParticipant(source: "user\(index)/camera", user: "user \(index)", joinOrder: index)
        }
        let designed = LayoutEngine.plan(LayoutLibrary.automatic, participants: crowd, canvas: canvas)
        var flat = Scene(canvas: canvas, panes: labelled(designed.panes))
        var speaking = designed
        for index in flat.panes.indices {
            (flat.panes[index].radius, flat.panes[index].shadow) = (nil, nil)
            speaking.panes[index].border = speaking.panes[index].speaking
        }
        return [("flat", flat), ("built-in layout", designed), ("built-in layout, all speaking", speaking)].map {
            Case(
                name: "\(people) people, \(canvas.height)p, \($0.0)", canvas: canvas, people: people, size: size,
                scenes: [$0.1], frames: 200)
        }
    }

    private static var looks: [Case] {
        let (small, full) = (Canvas(width: 1280, height: 720, fps: 30), Canvas(width: 1920, height: 1080, fps: 30))
        return automatic(small, people: 2, size: (1280, 720)) + automatic(small, people: 4, size: (1280, 720))
            + automatic(full, people: 16, size: (640, 360))
    }

    private static var cases: [Case] {
        let canvas = Canvas.portrait
        let two = grid(canvas, 1, 2)
        let moving = Transition(duration: 500)
        var faded = two
        faded[1].opacity = UnitFraction(0.6)
        let watermark = Overlay(
            id: "text", x: 20, y: 20, width: 300, height: 60, content: .text("watermark", TextStyle(size: 30)))
        let clock = Overlay(
            id: "clock", x: 400, y: 20, width: 300, height: 60,
            content: .clock(.time, utcOffset: 0, TextStyle(size: 30)))
        let full = Canvas(width: 1920, height: 1080, fps: 30)
        let sixteen = grid(full, 4, 4)
        let camera = (width: 720, height: 1280)
        func scene(_ canvas: Canvas, _ panes: [Pane], overlays: [Overlay] = [], by transition: Transition = .cut)
            -> Scene
        {
            Scene(canvas: canvas, panes: panes, overlays: overlays, transition: transition)
        }
        let alone = scene(canvas, [pane(0, 0, 0, 720, 1280)], by: moving)
        let spotlight = [pane(0, 0, 0, 1440, 1080)] + (1..<16).map { pane($0, 1440, ($0 - 1) * 72, 480, 72) }
        return [
            Case(
                name: "two people at rest", canvas: canvas, people: 2, size: camera, scenes: [scene(canvas, two)],
                frames: 200),
            Case(
                name: "with two labels", canvas: canvas, people: 2, size: camera,
                scenes: [scene(canvas, labelled(two))], frames: 200),
            Case(
                name: "with two labels, a text and a clock", canvas: canvas, people: 2, size: camera,
                scenes: [scene(canvas, labelled(two), overlays: [watermark, clock])], frames: 200),
            Case(
                name: "one of the two at 60 % opacity", canvas: canvas, people: 2, size: camera,
                scenes: [scene(canvas, faded)], frames: 200),
            Case(
                name: "one becomes two and back, moving all the time", canvas: canvas, people: 2, size: camera,
                scenes: (0..<20).map { $0 % 2 == 0 ? alone : scene(canvas, labelled(two), by: moving) }, frames: 10),
            Case(
                name: "16 people at rest, 1080p", canvas: full, people: 16, size: (640, 360),
                scenes: [scene(full, sixteen)], frames: 100),
            Case(
                name: "16 people with labels, 1080p", canvas: full, people: 16, size: (640, 360),
                scenes: [scene(full, labelled(sixteen))], frames: 100),
            Case(
                name: "16 people with labels, 1080p, moving all the time", canvas: full, people: 16, size: (640, 360),
                scenes: (0..<10).map {
                    scene(full, labelled($0 % 2 == 0 ? sixteen : spotlight), by: Transition(duration: 500))
                }, frames: 15),
        ]
    }

    @Test func cost() async throws {
        for measured in Self.cases + Self.looks {
            var stage = try MixerStage(measured.canvas)
            // Two pictures alternate, because a picture that is shown again is not scaled again.
            let pictures = try [RGB.moss, .brick].map {
                try MixerStage.picture($0, width: measured.size.width, height: measured.size.height)
            }
            func deliver(_ number: Int) {
                for index in 0..<measured.people {
                    stage.sources[SourceID("user\(index)/camera")] = pictures[number % 2]
                }
            }
            deliver(0)
            // Everything static is drawn before the measurement.
            for scene in measured.scenes.prefix(2) {
                stage.show(scene)
                _ = try await stage.frame(after: 20)
            }
            var times: [Double] = []
            var painting = 0.0
            for scene in measured.scenes {
                stage.show(scene)
                for number in 0..<measured.frames {
                    deliver(number)
                    let begin = MixerStage.processTime
                    _ = try await stage.next()
                    times.append(MixerStage.processTime - begin)
                    painting += stage.composingTime
                }
            }
            times.sort()
            let mean = times.reduce(0, +) / Double(times.count)
            let interval = 1000 / Double(measured.canvas.fps)
            print(
                measured.name.padding(toLength: 50, withPad: " ", startingAt: 0),
                String(
                    format: "mean %.3f ms (painting %.3f), 99%% %.2f ms a frame = %.1f %% of a core", mean,
                    painting / Double(times.count), times[times.count * 99 / 100], mean / interval * 100))
        }
    }
}
