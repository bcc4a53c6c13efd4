import Foundation
import LayoutEngine
import TestSupport
import Testing

struct SceneTests {
    @Test func differenceOfEqualScenesIsEmpty() {
        let scene = LayoutEngine.plan(LayoutLibrary.automatic, participants: people(4), canvas: .portrait)
        #expect(scene.difference(from: scene).isEmpty)
    }

    @Test func thirdPersonIsAddedAndTheOthersMove() {
        let two = LayoutEngine.plan(LayoutLibrary.automatic, participants: people(2), canvas: .portrait)
        let three = LayoutEngine.plan(LayoutLibrary.automatic, participants: people(3), canvas: .portrait)
        let difference = three.difference(from: two)
        #expect(difference.canvas == nil)
        #expect(difference.removed == [])
        #expect(difference.added.map(\.user) == ["user2"])
        #expect(difference.changed.map(\.user) == ["user0", "user1"])
        #expect(difference.order == nil)
    }

    @Test func differencesLeadFromAnySceneToAnyOther() {
        for seed in UInt64(1)...500 {
            var random = SeededGenerator(seed: seed)
            func scene() -> Scene {
                let placement: Arrangement.Placement =
                    Bool.random(using: &random)
                    ? .grid(tileAspect: nil) : .pictureInPicture(corner: .topLeft, size: UnitFraction(0.2))
                var crowd = people(6).shuffled(using: &random)
                crowd.removeLast(Int.random(in: 0...6, using: &random))
                for index in crowd.indices { crowd[index].joinOrder = Int.random(in: 0...9, using: &random) }
                return LayoutEngine.plan(
                    LayoutTemplate(placement), participants: crowd,
                    canvas: Bool.random(using: &random) ? .portrait : .landscape)
            }
            let (old, new) = (scene(), scene())
            #expect(old.applying(new.difference(from: old)) == new, "seed \(seed)")
        }
    }

    @Test func pictureIsWellFormedWhateverUsersAreCalled() throws {
        var crowd = people(2)
        crowd[0].user = "<&>\"'\u{1}\u{FFFF}𝄞 ]]>"
        let scene = LayoutEngine.plan(LayoutLibrary.automatic, participants: crowd, canvas: .portrait)
        let svg = scene.svg()
        #expect(svg.hasPrefix("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 1280\""))
        #expect(svg.contains("&lt;&amp;&gt;\"'\u{FFFD}\u{FFFD}𝄞 ]]&gt;</text>"))
        #expect(svg.contains("360×640 cover"))
        #expect(svg == scene.svg())
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
        library.insert(LayoutTemplate(name: "auto", arrangements: [Arrangement(placement: .solo)]))
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
