import Testing

@testable import LayoutEngine

/// The order in which overlays are drawn over each other.
struct OverlayOrderTests {
    private static func scene(_ overlays: String) throws -> Scene {
        let json = #"{"overlays": [\#(overlays)], "arrangements": [{"algorithm": "solo"}]}"#
        return LayoutEngine.plan(
            try LayoutTemplate.decode(json.utf8, name: "order"), participants: people(1), canvas: .landscape)
    }

    private static func page(_ number: Int, _ more: String = "") -> String {
        #"{"page": "https://a.example/\#(number)", "x": 0, "y": 0, "width": 1, "height": 1\#(more)}"#
    }

    @Test func aHigherLevelIsInFront() throws {
        let scene = try Self.scene(
            [Self.page(1, #", "z": 200"#), #"{"text": "a", "place": "top"}"#, Self.page(2, #", "z": 3"#)]
                .joined(separator: ","))
        #expect(scene.overlays.map(\.id) == ["overlay-3", "overlay-2", "overlay-1"], "from back to front")
        #expect(scene.panes.count == 1)
    }

    @Test func theOrderOfTheListDecidesBetweenEqualLevels() throws {
        let levels = [2, 0, 2, 0, 2, 0, 2, 0]
        let pages = levels.enumerated().map { Self.page($0.offset, #", "z": \#($0.element)"#) }
        let scene = try Self.scene(pages.joined(separator: ","))
        #expect(scene.overlays.map(\.id) == [2, 4, 6, 8, 1, 3, 5, 7].map { "overlay-\($0)" })
        let plain = try Self.scene((1...3).map { Self.page($0) }.joined(separator: ","))
        #expect(plain.overlays.map(\.id) == ["overlay-1", "overlay-2", "overlay-3"])
    }

    /// A program on air has to be told.
    @Test func anotherLevelIsAnotherScene() throws {
        let before = try Self.scene([Self.page(1), Self.page(2)].joined(separator: ","))
        let after = try Self.scene([Self.page(1, #", "z": 101"#), Self.page(2)].joined(separator: ","))
        let difference = after.difference(from: before)
        #expect(difference.overlays?.map(\.id) == ["overlay-2", "overlay-1"])
        #expect(before.applying(difference) == after)
    }

    /// An overlay that leaves from the front stays in front, and one that changes its place does so in the middle.
    @Test func theOrderHoldsDuringTransitions() throws {
        func order(_ before: [String], _ after: [String], at progress: Double) throws -> [String] {
            let (old, new) = try (Self.scene(before.joined(separator: ",")), Self.scene(after.joined(separator: ",")))
            return SceneTransition(from: old, to: new).scene(at: UnitFraction(progress)).overlays.map(\.id)
        }
        // The leaving one has the identifier of the new one.
        #expect(
            try order([Self.page(1, #", "z": 150"#), Self.page(2)], [Self.page(3)], at: 0.5)
                == ["overlay-2", "overlay-1", "overlay-1…"])
        let (before, after) = (
            [Self.page(1, #", "z": 1"#), Self.page(2, #", "z": 2"#)],
            [Self.page(1, #", "z": 3"#), Self.page(2, #", "z": 2"#)]
        )
        #expect(try order(before, after, at: 0.25) == ["overlay-1", "overlay-2"])
        #expect(try order(before, after, at: 0.75) == ["overlay-2", "overlay-1"])
    }

    /// Panes have a place on the same scale; an overlay is in front of those with the same one.
    @Test func overlaysLieBetweenPanes() throws {
        let overlays = [("behind", -1), ("between", 0), ("above", 1)].map { text, z in
            #"{"text": "\#(text)", "place": "top", "z": \#(z)}"#
        }
        let json = """
            {"overlays": [\(overlays.joined(separator: ","))], "arrangements": [{"panes": [
              {"slot": 1, "x": 0, "y": 0, "width": 1, "height": 1},
              {"slot": 2, "x": 0.5, "y": 0.5, "width": 0.5, "height": 0.5, "z": 1}]}]}
            """
        let scene = LayoutEngine.plan(
            try LayoutTemplate.decode(json.utf8, name: "between"), participants: people(2), canvas: .landscape)
        #expect(scene.panes.map(\.z) == [0, 1])
        let drawing = scene.svg()
        let places = ["behind", "user0", "between", "user1", "above"].map { word in
            drawing.firstRange(of: word).map { drawing.distance(from: drawing.startIndex, to: $0.lowerBound) } ?? -1
        }
        #expect(places.allSatisfy { $0 >= 0 } && places == places.sorted(), "\(places): \(drawing)")
    }

    /// Other releases have none.
    @Test func theUsualPlaceIsNotWritten() throws {
        let scene = try Self.scene(
            [Self.page(1), Self.page(2, #", "z": 100"#), Self.page(3, #", "z": 0"#)].joined(separator: ","))
        #expect(scene.overlays.map(\.z) == [0, nil, nil] && scene.overlays.map(\.level) == [0, 100, 100])
    }

    @Test(arguments: ["-2", "201", "1.5", "true"]) func otherLevelsAreRefused(_ level: String) {
        #expect(throws: LayoutError.self) { try Self.scene(Self.page(1, #", "z": \#(level)"#)) }
    }
}
