import LayoutEngine
import Testing

/// The built-in layout, which is used for rooms that name no other.
struct AutomaticTests {
    private static let canvases = [
        Canvas.portrait, .landscape, Canvas(width: 1920, height: 1080, fps: 30),
        Canvas(width: 640, height: 360, fps: 30),
        Canvas(width: 1080, height: 1080, fps: 30), Canvas(width: 1920, height: 810, fps: 24),
        Canvas(width: 360, height: 640, fps: 15),
    ]

    private func scene(_ count: Int, on canvas: Canvas) -> Scene {
        LayoutEngine.plan(LayoutLibrary.automatic, participants: people(count), canvas: canvas)
    }

    /// A mix of one participant looks like a copy of their packets.
    @Test(arguments: canvases)
    func onePersonHasNothingAround(_ canvas: Canvas) throws {
        let panes = scene(1, on: canvas).panes
        let pane = try #require(panes.first)
        #expect(panes.count == 1 && pane.rectangle == [0, 0, canvas.width, canvas.height])
        #expect(pane.fit == .cover && pane.opacity == .whole && pane.label == nil)
        #expect(pane.border == nil && pane.speaking == nil && pane.radius == nil && pane.shadow == nil)
        #expect(pane.card.style == .gradient)
    }

    @Test(arguments: 2...16, canvases)
    func peopleFillTheCanvas(_ count: Int, _ canvas: Canvas) {
        let scene = scene(count, on: canvas)
        #expect(flaws(of: scene) == [] && scene.isPlausible)
        let seen = scene.panes.reduce(0) { $0 + $1.width * $1.height }
        #expect(seen * 100 >= canvas.width * canvas.height * (count == 2 ? 91 : 83), "\(seen)")
        // The space around the panes equals the space between them.
        let space = scene.panes.map(\.x).min() ?? 0
        #expect(space >= 2 && space * 50 <= min(canvas.width, canvas.height))
        #expect(scene.panes.map(\.y).min() == space)
        #expect(scene.panes.map { $0.x + $0.width }.max() == canvas.width - space)
        #expect(scene.panes.map { $0.y + $0.height }.max() == canvas.height - space)
        for (index, pane) in scene.panes.enumerated() {
            var grown = pane
            (grown.width, grown.height) = (pane.width + space, pane.height + space)
            #expect(!scene.panes[(index + 1)...].contains { $0.overlaps(grown) })
        }
    }

    @Test(arguments: [2, 5, 16])
    func everyPaneHasTheLookOfTheShippedLayouts(_ count: Int) throws {
        var crowd = people(count)
        crowd[1].hasAudio = false
        let scene = LayoutEngine.plan(LayoutLibrary.automatic, participants: crowd, canvas: .landscape)
        let shipped = try #require(GoldenSceneTests.shipped()["side-by-side"])
        let model = LayoutEngine.plan(shipped, participants: crowd, canvas: .landscape)
        #expect(scene.background == model.background && scene.canvas == model.canvas)
        #expect(scene.transition == model.transition)
        for (pane, like) in zip(scene.panes, model.panes) {
            #expect(pane.label == like.label && pane.label?.style == .pill)
            #expect(pane.speaking == like.speaking && pane.card == like.card && pane.border == nil)
            #expect(pane.radius == 16 && pane.shadow == Shadow(blur: 14, offset: 2, opacity: UnitFraction(0.5)))
        }
        #expect(scene.panes.map(\.label?.isMuted).prefix(2) == [nil, true])
    }

    /// On canvases smaller than any in use, every count that has room is shown, and nothing traps.
    @Test func anyCanvasWillDo() {
        for (width, height) in [(16, 16), (16, 7680), (7680, 16), (7680, 7680), (32, 18), (160, 90), (90, 160)] {
            for count in 0...16 {
                let scene = scene(count, on: Canvas(width: width, height: height, fps: 1))
                #expect(flaws(of: scene) == [] && scene.isPlausible, "\(count) on \(width)×\(height)")
                #expect(scene.panes.count == count || min(width, height) == 16)
            }
        }
    }

    /// The layout's colours are a default; a room's own background was chosen.
    @Test func aRoomKeepsTheBackgroundThatItHasChosen() throws {
        let chosen = Canvas(width: 720, height: 1280, fps: 20, background: RGB(red: 0, green: 80, blue: 40))
        let scene = scene(3, on: chosen)
        #expect(scene.canvas == chosen && scene.background == nil)
        let slate = LayoutEngine.slate(LayoutLibrary.automatic, canvas: chosen)
        #expect(slate.canvas == chosen && slate.background == nil)
        // A file defines its own background.
        let shipped = try #require(GoldenSceneTests.shipped()["side-by-side"])
        #expect(LayoutEngine.plan(shipped, participants: people(3), canvas: chosen).background?.gradient != nil)
    }

    @Test func theSlateHasTheSameBackground() {
        let scene = scene(2, on: .landscape)
        let slate = LayoutEngine.slate(LayoutLibrary.automatic, canvas: .landscape)
        #expect(slate.canvas == scene.canvas && slate.background == scene.background)
        #expect(slate.background?.gradient != nil)
        // A relay makes the same slate, although it knows the canvas and not the layout.
        #expect(LayoutEngine.slate(canvas: scene.canvas) == slate)
    }
}
