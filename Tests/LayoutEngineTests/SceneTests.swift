import Foundation
import LayoutEngine
import TestSupport
import Testing

struct SceneTests {
    @Test func differenceOfEqualScenesIsEmpty() {
        let scene = LayoutEngine.plan(LayoutLibrary.automatic, participants: people(4), canvas: .portrait)
        #expect(scene.difference(from: scene).isEmpty)
    }

    @Test func thirdPersonIsAddedAndTheSecondMakesRoom() {
        let two = LayoutEngine.plan(LayoutLibrary.automatic, participants: people(2), canvas: .portrait)
        let three = LayoutEngine.plan(LayoutLibrary.automatic, participants: people(3), canvas: .portrait)
        let difference = three.difference(from: two)
        #expect(difference.canvas == nil)
        #expect(difference.removed == [])
        #expect(difference.added.map(\.user) == ["user2"])
        #expect(difference.changed.map(\.user) == ["user1"])
        #expect(difference.order == nil)
    }

    @Test func everythingThatChangesIsInTheDifference() {
        let old = Scene(canvas: .portrait, background: .init(image: "a.png"), panes: [])
        var new = old
        new.background = nil
        #expect(new.difference(from: old).background == .absent)
        new.overlays = [Overlay(id: "a", x: 0, y: 0, width: 2, height: 2, content: .image("l.png", align: .centre))]
        new.sound = SceneSound(levels: [.init(source: "a/camera")], loudest: 1)
        new.transition = Transition(duration: 100)
        let difference = new.difference(from: old)
        #expect(difference.overlays == new.overlays && difference.sound == new.sound)
        #expect(difference.transition == new.transition && !difference.isEmpty)
        // The transition is not part of the shown content.
        var slow = old
        slow.transition = Transition(duration: 100)
        #expect(slow.difference(from: old).isEmpty)
        #expect(old.applying(slow.difference(from: old)) == slow)
    }

    @Test func differencesLeadFromAnySceneToAnyOther() throws {
        for seed in UInt64(1)...300 {
            var random = SeededGenerator(seed: seed)
            func scene() -> Scene {
                LayoutEngine.plan(
                    random.template(), participants: random.crowd(),
                    canvas: random.chance(1, of: 4) ? .landscape : .portrait)
            }
            let (old, new) = (scene(), scene())
            let difference = new.difference(from: old)
            #expect(old.applying(difference) == new, "seed \(seed)")
            // The difference survives the encoding between relay and mixer.
            let sent = try JSONEncoder().encode(difference)
            #expect(old.applying(try JSONDecoder().decode(SceneDifference.self, from: sent)) == new, "seed \(seed)")
            #expect(try JSONDecoder().decode(Scene.self, from: JSONEncoder().encode(new)) == new, "seed \(seed)")
        }
    }
}

struct ColourTests {
    @Test func sixHexadecimalDigitsAreAColour() {
        #expect(RGB(hex: "#1a2B3c") == RGB(red: 0x1A, green: 0x2B, blue: 0x3C))
    }

    @Test(arguments: ["#+12345", "#-12345", "#12345", "#1234567", "1234567", "#12345g", "#１２", ""])
    func everythingElseIsNot(text: String) {
        #expect(RGB(hex: text) == nil)
    }
}

struct LayoutLibraryTests {
    @Test func brokenFileLeavesTheLastGoodVersion() throws {
        var library = LayoutLibrary()
        try library.load(Array(#"{"arrangements":[{"algorithm":"grid"}]}"#.utf8), name: "mine")
        let good = library["mine"]
        #expect(throws: LayoutError.self) {
            try library.load(Array(#"{"arrangements":[{"algorithm":"gird"}]}"#.utf8), name: "mine")
        }
        #expect(library["mine"] == good)
        #expect(good != nil)
    }

    @Test func automaticLayoutIsAlwaysThere() {
        var library = LayoutLibrary()
        library.insert(LayoutTemplate(name: "auto", arrangements: [Arrangement(placement: .algorithm(.solo))]))
        #expect(library["auto"] != LayoutLibrary.automatic)
        library.remove("auto")
        #expect(library["auto"] == LayoutLibrary.automatic)
        #expect(library.names == ["auto"])
    }

    @Test func misspeltNameIsRecognised() {
        var library = LayoutLibrary()
        library.insert(LayoutTemplate(name: "side-by-side", arrangements: []))
        #expect(library.suggestion(for: "sideBySide") == "side-by-side")
        #expect(library.suggestion(for: "side-by-sdie") == "side-by-side")
        #expect(library.suggestion(for: "stage") == nil)
    }
}
