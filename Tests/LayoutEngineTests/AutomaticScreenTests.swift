import LayoutEngine
import Testing

/// The built-in layout while a screen is shared.
struct AutomaticScreenTests {
    private static let canvases = [
        Canvas.portrait, .landscape, Canvas(width: 1920, height: 1080, fps: 30),
        Canvas(width: 640, height: 360, fps: 30), Canvas(width: 1080, height: 1080, fps: 30),
        Canvas(width: 1920, height: 810, fps: 24), Canvas(width: 1024, height: 768, fps: 25),
        Canvas(width: 360, height: 640, fps: 15),
    ]

    private func screen(of user: String, _ role: LayoutParticipant.Role = .guest, at order: Int) -> LayoutParticipant {
        LayoutParticipant(
            source: "\(user)/screen", user: user, role: role, kind: .screen, joinOrder: order, hasAudio: false)
    }

    private func plan(_ crowd: [LayoutParticipant], on canvas: Canvas) -> Scene {
        LayoutEngine.plan(LayoutLibrary.automatic, participants: crowd, canvas: canvas)
    }

    /// The last of them shares a screen; a second screen is that of a user without a camera.
    @Test(arguments: 1...16, canvases)
    func screensAreWholeAndTheFirstIsLarge(_ count: Int, _ canvas: Canvas) throws {
        let first = screen(of: "user\(count - 1)", count == 1 ? .host : .guest, at: count - 1)
        for screens in [[first], [first, screen(of: "visitor", at: 100)]] {
            let crowd = people(count) + screens
            let scene = plan(crowd, on: canvas)
            #expect(flaws(of: scene) == [] && scene.isPlausible)
            #expect(scene.panes.count == min(crowd.count, LayoutEngine.mostPanes))
            let whole = scene.panes.filter { $0.fit == .contain }
            let shown = scene.panes.filter { $0.source.hasSuffix("/screen") }
            #expect(whole == shown && shown.count == (crowd.count > LayoutEngine.mostPanes ? 1 : screens.count))
            let large = try #require(scene.panes.first { $0.source == first.source })
            #expect(large.label == nil && large.speaking == nil && large.radius != nil)
            for pane in scene.panes where pane.source != large.source {
                #expect(pane.width * pane.height < large.width * large.height)
                #expect(min(pane.width, pane.height) * 12 >= min(canvas.width, canvas.height), "\(pane)")
                #expect(pane.speaking != nil)
            }
        }
    }

    @Test func thePeopleAreBelowOrBesideTheScreen() throws {
        for (canvas, rectangle) in [(Canvas.portrait, [12, 12, 696, 640]), (.landscape, [12, 12, 992, 696])] {
            let scene = plan(people(3) + [screen(of: "user0", .host, at: 0)], on: canvas)
            #expect(scene.panes.map(\.user) == ["user0", "user0", "user1", "user2"])
            #expect(scene.panes.first?.rectangle == rectangle)
            for pane in scene.panes.dropFirst() {
                #expect(canvas == .portrait ? pane.y >= 664 : pane.x >= 1016)
                #expect(pane.fit == .cover && pane.label?.text == pane.user)
            }
        }
    }

    /// A mix of a screen alone looks like a copy of its packets, except that a canvas of another shape does not crop it.
    @Test(arguments: canvases) func aScreenAloneHasTheWholeCanvas(_ canvas: Canvas) throws {
        let panes = plan([screen(of: "user0", .host, at: 0)], on: canvas).panes
        let pane = try #require(panes.first)
        #expect(panes.count == 1 && pane.rectangle == [0, 0, canvas.width, canvas.height] && pane.fit == .contain)
        #expect(pane.label == nil && pane.speaking == nil && pane.radius == nil && pane.shadow == nil)
    }

    @Test func theScreenOfAHostIsTheLargeOne() {
        let crowd = people(2) + [screen(of: "user1", at: 1), screen(of: "user0", .host, at: 0)]
        for canvas in Self.canvases {
            let panes = plan(crowd, on: canvas).panes
            #expect(panes.max { $0.width * $0.height < $1.width * $1.height }?.source == "user0/screen")
        }
    }

    @Test func aPausedScreenLeavesTheLargePlaceToAnother() {
        var paused = screen(of: "user0", .host, at: 0)
        paused.hasVideo = false
        let panes = plan([paused, screen(of: "user1", at: 1)], on: .landscape).panes
        #expect(panes.max { $0.width * $0.height < $1.width * $1.height }?.source == "user1/screen")
    }

    /// A camera that is off has a card beside the screen. A screen without a picture needs no place.
    @Test func peopleWithoutAPictureAreBesideTheScreen() {
        var crowd = people(2) + [screen(of: "user1", at: 1)]
        crowd[0].hasVideo = false
        #expect(plan(crowd, on: .landscape).panes.map(\.source) == ["user1/screen", "user0/camera", "user1/camera"])
        crowd[2].hasVideo = false
        let without = plan(Array(crowd.prefix(2)), on: .landscape)
        #expect(plan(crowd, on: .landscape).panes == without.panes)
    }

    /// Other layouts fall back to the built-in one as without a screen, with their own fit.
    @Test func aLayoutWithoutAnArrangementKeepsItsFit() {
        let template = LayoutTemplate(
            name: "nine", arrangements: [Arrangement(when: .init(people: 9...9), placement: .algorithm(.solo))])
        let scene = LayoutEngine.plan(
            template, participants: people(1) + [screen(of: "user0", .host, at: 0)], canvas: .landscape)
        #expect(scene.panes.map(\.rectangle) == [[0, 0, 640, 720], [640, 0, 640, 720]])
        #expect(scene.panes.map(\.fit) == [.cover, .cover])
    }
}
