import LayoutEngine
import TestSupport
import Testing

struct TransitionTests {
    private static let steps = (0...60).map { UnitFraction(Double($0) / 60) }

    private func scene(
        _ count: Int, _ algorithm: Algorithm = .grid(tileAspect: nil), canvas: Canvas = .portrait,
        transition: Transition = Transition(duration: 300, easing: .easeInOut)
    ) -> Scene {
        var template = LayoutTemplate(.algorithm(algorithm))
        template.arrangements[0].settings.transition = transition
        return LayoutEngine.plan(template, participants: people(count), canvas: canvas)
    }

    /// Returns the visible part of a scene.
    private func picture(_ scene: Scene) -> Scene {
        var scene = scene
        scene.sound = SceneSound()
        scene.transition = .cut
        return scene
    }

    @Test(arguments: Transition.Easing.allCases) func easingsAreMonotoneFromZeroToOne(easing: Transition.Easing) {
        func place(_ step: UnitFraction) -> Int {
            let linear = Transition(duration: 1000, easing: easing)
            let (old, new) = (scene(1, .solo, transition: linear), scene(2, .sideBySide, transition: linear))
            return SceneTransition(from: old, to: new).scene(at: step).panes.first { $0.user == "user0" }?.width ?? 0
        }
        let widths = Self.steps.map(place)
        #expect(widths.first == 720 && widths.last == 360)
        #expect(widths == widths.sorted(by: >))
        let middle = widths[30]
        switch easing {
        case .linear, .easeInOut: #expect(middle == 540)
        case .easeIn: #expect(middle > 600)
        case .easeOut: #expect(middle < 480)
        }
    }

    @Test func hostMakesRoomAndGuestFadesIn() throws {
        let transition = SceneTransition(from: scene(1, .solo), to: scene(2, .sideBySide))
        let middle = transition.scene(at: UnitFraction(0.5))
        #expect(middle.panes.map(\.source) == ["user0/camera", "user1/camera"])
        #expect(middle.panes[0].rectangle == [0, 160, 540, 960])
        #expect(middle.panes[0].opacity == .whole)
        #expect(middle.panes[1].opacity == UnitFraction(0.5))
        // The pane is half way from four fifths of its size around its centre.
        #expect(middle.panes[1].rectangle == [378, 352, 324, 576])
    }

    @Test func whoLeavesFadesOutBehindTheOthers() {
        let transition = SceneTransition(from: scene(3), to: scene(2))
        let middle = transition.scene(at: UnitFraction(0.5))
        #expect(middle.panes.map(\.source) == ["user2/camera", "user0/camera", "user1/camera"])
        #expect(middle.panes[0].opacity == UnitFraction(0.5))
        #expect(middle.panes[0].rectangle == scene(3).panes[2].rectangle)
        #expect(transition.scene(at: .whole).panes.count == 2)
    }

    @Test func smallPaneStaysInFrontUntilItHasLeft() throws {
        let inset = Algorithm.pictureInPicture(corner: .topLeft, size: UnitFraction(0.3))
        let transition = SceneTransition(from: scene(2, inset), to: scene(1, inset))
        let panes = transition.scene(at: UnitFraction(0.9)).panes
        #expect(panes.map(\.source) == ["user0/camera", "user1/camera"])
        #expect(try #require(panes.last).opacity < UnitFraction(0.1))
    }

    @Test func panesThatChangePlacesPassEachOtherInTheMiddle() {
        let inset = Algorithm.pictureInPicture(corner: .topLeft, size: UnitFraction(0.3))
        let old = scene(2, inset)
        var crowd = people(2)
        crowd.swapAt(0, 1)
        crowd[0].role = .host
        crowd[1].role = .guest
        var new = LayoutEngine.plan(LayoutTemplate(.algorithm(inset)), participants: crowd, canvas: .portrait)
        new.transition = Transition(duration: 300, easing: .linear)
        let transition = SceneTransition(from: old, to: new)
        func front(_ progress: Double) -> String? { transition.scene(at: UnitFraction(progress)).panes.last?.user }
        #expect(front(0.49) == "user1")
        #expect(front(0.51) == "user0")
        let middle = transition.scene(at: UnitFraction(0.5)).panes
        #expect(middle[0].rectangle == middle[1].rectangle)
    }

    @Test func soundIsThatOfTheNewSceneAtOnce() {
        let transition = SceneTransition(from: scene(2), to: scene(3))
        #expect(transition.scene(at: .zero).sound == scene(3).sound)
        #expect(picture(transition.scene(at: .zero)) == picture(scene(2)))
        #expect(transition.scene(at: .whole) == scene(3))
    }

    @Test func anotherCanvasIsShownAtOnce() {
        let new = scene(2, canvas: .landscape)
        let transition = SceneTransition(from: scene(2), to: new)
        #expect(transition.scene(at: .zero) == new)
        #expect(transition.scene(at: UnitFraction(0.5)) == new)
    }

    @Test func overlaysFadeAndMove() throws {
        func scene(_ overlays: [Overlay]) -> Scene {
            Scene(
                canvas: .portrait, panes: [], overlays: overlays,
                transition: Transition(duration: 100, easing: .linear))
        }
        func overlay(_ id: String, _ text: String, x: Int) -> Overlay {
            Overlay(id: id, x: x, y: 0, width: 100, height: 40, content: .text(text, TextStyle(size: 20)))
        }
        let old = scene([overlay("overlay-1", "a", x: 0), overlay("overlay-2", "b", x: 0)])
        let new = scene([overlay("overlay-1", "b", x: 100), overlay("overlay-2", "c", x: 0)])
        let middle = SceneTransition(from: old, to: new).scene(at: UnitFraction(0.5)).overlays
        #expect(middle.map(\.id) == ["overlay-1…", "overlay-1", "overlay-2"])
        #expect(middle.map(\.x) == [0, 50, 0])
        #expect(middle.map(\.opacity) == [UnitFraction(0.5), .whole, UnitFraction(0.5)])
    }

    @Test func decorationsFitOnTheWay() {
        var template = LayoutTemplate(.sideBySide)
        template.arrangements[0].settings.style = PaneStyle(
            border: .init(width: UnitFraction(0.02)), label: .init(size: UnitFraction(0.1)))
        var new = LayoutEngine.plan(template, participants: people(2), canvas: .portrait)
        new.transition = Transition(duration: 300, easing: .linear)
        var old = new
        for index in old.panes.indices { (old.panes[index].border, old.panes[index].label) = (nil, nil) }
        for index in old.panes.indices { (old.panes[index].width, old.panes[index].height) = (8, 8) }
        let transition = SceneTransition(from: old, to: new)
        let widths = Self.steps.map { transition.scene(at: $0).panes[0].border?.width ?? 0 }
        #expect(widths == widths.sorted() && widths.first == 0 && widths.last == 14)
        #expect(transition.scene(at: UnitFraction(0.1)).panes[0].label == nil)
        #expect(transition.scene(at: UnitFraction(0.9)).panes[0].label != nil)
    }
}

// MARK: - Properties
extension TransitionTests {
    private func randomScene(_ random: inout SeededGenerator) -> Scene {
        LayoutEngine.plan(random.template(), participants: random.crowd(), canvas: .portrait)
    }

    /// Returns all flaws except overlaps, which are allowed during a transition.
    private func flawsOnTheWay(of scene: Scene) -> [String] { flaws(of: scene).filter { !$0.hasPrefix("overlap") } }

    @Test func everyPictureOnTheWayIsSound() {
        for seed in UInt64(1)...60 {
            var random = SeededGenerator(seed: seed)
            let (old, new) = (randomScene(&random), randomScene(&random))
            let transition = SceneTransition(from: old, to: new)
            #expect(picture(transition.scene(at: .zero)) == picture(old), "seed \(seed)")
            #expect(transition.scene(at: .whole) == new, "seed \(seed)")
            for step in Self.steps.dropFirst().dropLast() where random.chance(1, of: 4) {
                let shown = transition.scene(at: step)
                let flaws = flawsOnTheWay(of: shown).filter { !$0.contains(" panes") }
                #expect(flaws == [], "seed \(seed) at \(step.value)")
                #expect(shown == transition.scene(at: step), "seed \(seed) at \(step.value)")
            }
        }
    }

    /// Edges and opacities change in one direction only, and stay between those of the two scenes.
    @Test func everythingGoesOneWay() {
        for seed in UInt64(1)...80 {
            var random = SeededGenerator(seed: seed)
            let (old, new) = (randomScene(&random), randomScene(&random))
            let transition = SceneTransition(from: old, to: new)
            let shown = Self.steps.dropFirst().map { transition.scene(at: $0).panes }
            for source in Set((old.panes + new.panes).map(\.source)) {
                let way = shown.compactMap { $0.first { $0.source == source } }
                for value in [\Pane.x, \.y, \.right, \.bottom, \.opacity.millionthsForTests] {
                    let values = way.map { $0[keyPath: value] }
                    #expect(values == values.sorted() || values == values.sorted(by: >), "seed \(seed), \(source)")
                }
            }
        }
    }

    /// A transition that begins during another one starts from the shown scene, however often that happens.
    @Test func interruptionsDoNotJump() {
        for seed in UInt64(1)...60 {
            var random = SeededGenerator(seed: seed)
            var shown = randomScene(&random)
            for interruption in 0..<10 {
                let transition = SceneTransition(from: shown, to: randomScene(&random))
                #expect(picture(transition.scene(at: .zero)) == picture(shown), "seed \(seed)")
                let first = transition.scene(at: UnitFraction(0.000_01))
                for pane in first.panes {
                    guard let before = shown.panes.first(where: { $0.source == pane.source }) else {
                        #expect(pane.opacity.value < 0.001, "seed \(seed), interruption \(interruption)")
                        continue
                    }
                    #expect(before.rectangle == pane.rectangle, "seed \(seed), interruption \(interruption)")
                    #expect(abs(before.opacity.value - pane.opacity.value) < 0.001, "seed \(seed)")
                }
                // A visible pane does not vanish from one frame to the next.
                for pane in shown.panes where !first.panes.contains(where: { $0.source == pane.source }) {
                    Issue.record("seed \(seed): \(pane.source) vanished")
                }
                shown = transition.scene(at: random.fraction())
                #expect(shown.overlays.count <= 16, "seed \(seed)")
            }
        }
    }
}

extension Pane {
    fileprivate var right: Int { x + width }
    fileprivate var bottom: Int { y + height }
}

extension UnitFraction {
    fileprivate var millionthsForTests: Int { millionths }
}
