import LayoutEngine
import Testing

/// Corners, shadows, backgrounds, labels and parameters, from the file to the scene.
struct LookTests {
    /// Shipped layouts that used these keys from the start.
    static let newNames: Set<String> = ["lower-third", "starting-soon", "score-board", "toast"]

    private func scene(_ json: String, _ people: [LayoutParticipant], values: LayoutValues = .init()) throws -> Scene {
        LayoutEngine.plan(
            try LayoutTemplate.decode(json.utf8, name: "look"), participants: people, canvas: .landscape,
            values: values)
    }

    @Test func panesHaveTheLookOfTheFile() throws {
        var crowd = people(2)
        crowd[1].hasAudio = false
        let scene = try scene(
            """
            {"canvas": {"background": {"from": "#102030", "to": "#000000", "angle": 90}}, "margin": 0.05, "gap": 0.05,
             "radius": 0.025, "shadow": {"blur": 0.05}, "speaking": {"width": 0.01}, "card": "gradient",
             "label": {"style": "pill", "muted": true, "font": "Inter", "bold": true},
             "arrangements": [{"algorithm": "side-by-side"}]}
            """, crowd)
        #expect(scene.canvas.background == RGB(red: 16, green: 32, blue: 48))
        #expect(scene.background == .init(Gradient(from: scene.canvas.background, to: .black, angle: 90)))
        for pane in scene.panes {
            #expect(pane.radius == 18)
            #expect(pane.shadow == Shadow(blur: 36, offset: 6))
            #expect(pane.speaking == .init(width: 8, colour: RGB(red: 0x3D, green: 0xDC, blue: 0x84)))
            #expect(pane.card.style == .gradient)
            #expect(pane.label?.style == .pill && pane.label?.font == Font(.inter, isBold: true))
        }
        #expect(scene.panes.map(\.label?.isMuted) == [nil, true])
        #expect(scene.isPlausible)
    }

    /// A surround is used only where the picture leaves room.
    @Test func aContainedPictureIsSurroundedByItself() throws {
        let file = #"{"fit": "@", "surround": {"blur": 0.1}, "arrangements": [{"algorithm": "solo"}]}"#
        let pane = try scene(file.replacing("@", with: "contain"), people(1)).panes[0]
        #expect(pane.surround == Surround(blur: 72, dim: UnitFraction(0.35)))
        #expect(try scene(file.replacing("@", with: "cover"), people(1)).panes[0].surround == nil)
        let one = try scene(
            """
            {"fit": "contain", "surround": {"blur": 0.02, "dim": 0}, "arrangements": [{"panes": [
              {"slot": 1, "x": 0, "y": 0, "width": 0.5, "height": 1, "surround": false},
              {"slot": 2, "x": 0.5, "y": 0, "width": 0.5, "height": 1, "surround": {"dim": 1}}]}]}
            """, people(2))
        #expect(one.panes.map(\.surround) == [nil, Surround(blur: 14, dim: .whole)])
        #expect(one.isPlausible)
        var wrong = one
        wrong.panes[1].surround?.blur = -1
        #expect(!wrong.isPlausible)
    }

    @Test func aScreenMayHaveAnotherFitThanCameras() throws {
        var crowd = people(2)
        crowd[1].source = "user0/screen"
        crowd[1].user = "user0"
        crowd[1].kind = .screen
        func fits(_ file: String) throws -> [Pane.Fit] { try scene(file, crowd).panes.map(\.fit) }
        #expect(try fits(#"{"screenFit": "contain", "arrangements": [{"algorithm": "grid"}]}"#) == [.cover, .contain])
        #expect(
            try fits(#"{"fit": "stretch", "arrangements": [{"algorithm": "grid", "screenFit": "cover"}]}"#)
                == [.stretch, .cover])
        #expect(try fits(#"{"fit": "contain", "arrangements": [{"algorithm": "grid"}]}"#) == [.contain, .contain])
        // It is inherited on its own: a pane's `fit` does not replace it.
        let panes = """
            {"screenFit": "contain", "arrangements": [{"panes": [
              {"slot": 1, "x": 0, "y": 0, "width": 0.5, "height": 1},
              {"stream": "screen", "x": 0.5, "y": 0, "width": 0.5, "height": 1, "fit": "cover" @}]}]}
            """
        #expect(try fits(panes.replacing("@", with: "")) == [.cover, .contain])
        #expect(try fits(panes.replacing("@", with: #", "screenFit": "stretch""#)) == [.cover, .stretch])
    }

    /// A pane as large as the canvas has no corners or shadow, since nothing is behind it.
    @Test func aPaneAsLargeAsTheCanvasHasNoCorners() throws {
        let json = #"{"radius": 0.1, "shadow": {}, @ "arrangements": [{"algorithm": "solo"}]}"#
        let whole = try scene(json.replacing("@", with: ""), people(1)).panes[0]
        #expect(whole.radius == nil && whole.shadow == nil)
        let inset = try scene(json.replacing("@", with: #""margin": 0.05,"#), people(1)).panes[0]
        #expect(inset.radius == 72 && inset.shadow != nil)
    }

    @Test func aRadiusIsAtMostHalfOfAPane() throws {
        let scene = try scene(
            """
            {"radius": 0.25, "arrangements": [{"panes": [{"slot": 1, "x": 0, "y": 0, "width": 0.5, "height": 0.1}]}]}
            """, people(1))
        #expect(scene.panes[0].height == 72 && scene.panes[0].radius == 36)
    }

    @Test func cornersAndShadowsMoveWithTheirPane() throws {
        let square = Pane(source: "a/camera", user: "a", x: 0, y: 0, width: 1280, height: 720)
        let round = Pane(
            source: "a/camera", user: "a", x: 320, y: 180, width: 640, height: 360, radius: 40,
            shadow: Shadow(blur: 20, offset: 4, opacity: .whole))
        let transition = SceneTransition(
            from: Scene(canvas: .landscape, panes: [square]),
            to: Scene(canvas: .landscape, panes: [round], transition: Transition(duration: 100, easing: .linear)))
        let half = transition.scene(at: UnitFraction(0.5)).panes[0]
        #expect(half.radius == 20 && half.shadow?.opacity == UnitFraction(0.5) && half.shadow?.blur == 20)
        #expect(transition.scene(at: .whole).panes == [round])
        #expect(transition.scene(at: .zero).panes == [square])
    }

    @Test func aPillIsAsWideAsItsName() {
        let pill = Label(text: "Ada", size: 20, style: .pill)
        let long = Label(text: String(repeating: "Ada ", count: 50), size: 20, style: .pill)
        #expect(pill.width(in: 400) < 120 && pill.width(in: 400).isMultiple(of: 2))
        #expect(long.width(in: 400) <= 400 - long.inset * 2)
        var muted = pill
        muted.isMuted = true
        #expect(muted.width(in: 400) > pill.width(in: 400))
        let parsed = ParsedSVG(muted.svg(width: 400))
        #expect(parsed.texts == ["Ada"] && parsed.elements.contains("path"))
        for width in 1...60 { _ = ParsedSVG(muted.svg(width: width)) }
    }

    @Test func gradientsReachTheCorners() {
        for (angle, start, end) in [
            (0, (500, 1000), (500, 0)), (90, (0, 500), (1000, 500)), (180, (500, 0), (500, 1000)),
            (270, (1000, 500), (0, 500)), (45, (0, 1000), (1000, 0)),
        ] {
            let line = Gradient(from: .black, to: .white, angle: angle).line(width: 100, height: 100)
            #expect(abs(line.start.x - start.0) <= 1 && abs(line.start.y - start.1) <= 1, "\(angle)")
            #expect(abs(line.end.x - end.0) <= 1 && abs(line.end.y - end.1) <= 1, "\(angle)")
        }
    }

    @Test func anEmptyRoomHasASlate() {
        for canvas in [Canvas.portrait, .landscape, Canvas(width: 16, height: 16, fps: 1)] {
            let slate = LayoutEngine.slate(canvas: canvas)
            #expect(slate.panes.isEmpty && slate.overlays.count == 2 && slate.isPlausible)
            #expect(slate.background?.gradient != nil)
            #expect(flaws(of: slate) == [])
        }
        let white = LayoutEngine.slate(canvas: Canvas(width: 720, height: 1280, fps: 20, background: .white))
        #expect(white.background == nil, "the room's own colour stays")
    }

    @Test func aLayoutHasItsOwnMessageOnTheSlate() throws {
        func slate(_ keys: String) throws -> Scene {
            let file = #"{\#(keys) "arrangements": [{"algorithm": "solo"}]}"#
            return LayoutEngine.slate(try LayoutTemplate.decode(file.utf8, name: "x"), canvas: .landscape)
        }
        func texts(_ scene: Scene) -> [String] {
            scene.overlays.compactMap { overlay -> String? in
                if case .text(let text, _) = overlay.content { text } else { nil }
            }
        }
        let usual = LayoutEngine.slate(canvas: .landscape)
        #expect(try slate("") == usual && slate(#""slate": {},"#) == usual)
        let own = try slate(#""slate": {"title": "Gleich zurück", "subtitle": "Bis bald", "font": "Lato"},"#)
        #expect(texts(own) == ["Gleich zurück", "Bis bald"])
        for overlay in own.overlays {
            guard case .text(_, let style) = overlay.content else { continue }
            #expect(style.font == .lato)
        }
        // An empty line is left out, and the other one stays at its place.
        let short = try slate(#""slate": {"title": ""},"#)
        #expect(short.overlays == Array(usual.overlays.dropFirst()))
        #expect(try slate(#""slate": {"title": "", "subtitle": " "},"#).overlays.isEmpty)
        let long = String(repeating: "é", count: 129)
        #expect(throws: LayoutError.self) { try slate(#""slate": {"title": "\#(long)"},"#) }
    }
}
