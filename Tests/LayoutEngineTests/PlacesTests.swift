import LayoutEngine
import TestSupport
import Testing

/// Scenes with explicit places.
@Suite struct PlacesTests {
    private func person(_ user: String, hasVideo: Bool = true) -> LayoutParticipant {
        LayoutParticipant(source: "\(user)/camera", user: user, joinOrder: 0, hasVideo: hasVideo)
    }

    @Test func whateverIsAskedForLiesOnTheCanvas() {
        var random = SeededGenerator(announcedFor: "places")
        for _ in 0..<500 {
            let canvas = Canvas(
                width: Int.random(in: 16...1920, using: &random), height: Int.random(in: 16...1920, using: &random),
                fps: 25)
            let places = (0..<Int.random(in: 0...20, using: &random)).map { index in
                Place(
                    area: Area(
                        x: UnitFraction(Double.random(in: 0...1, using: &random)),
                        y: UnitFraction(Double.random(in: 0...1, using: &random)),
                        width: UnitFraction(Double.random(in: 0...1, using: &random)),
                        height: UnitFraction(Double.random(in: 0...1, using: &random))),
                    z: Int.random(in: 0...3, using: &random), fit: .contain,
                    occupant: Bool.random(using: &random) ? person("u\(index % 7)") : nil)
            }
            let scene = LayoutEngine.scene(of: places, heard: [], background: nil, canvas: canvas)
            #expect(scene.panes.count <= LayoutLimits.mostPanes)
            #expect(Set(scene.panes.map(\.source)).count == scene.panes.count, "a source has one pane")
            #expect(scene.panes.map(\.z) == scene.panes.map(\.z).sorted())
            for pane in scene.panes {
                #expect(pane.x >= 0 && pane.y >= 0 && pane.width >= 2 && pane.height >= 2)
                #expect(pane.x + pane.width <= scene.canvas.width && pane.y + pane.height <= scene.canvas.height)
                #expect([pane.x, pane.y, pane.width, pane.height].allSatisfy { $0 % 2 == 0 })
            }
        }
    }

    @Test func panesThatTouchInFractionsTouchInPixels() {
        let third = UnitFraction(1.0 / 3)
        let places = (0..<3).map { index in
            Place(
                area: Area(
                    x: UnitFraction(Double(index) / 3), y: .zero, width: third, height: .whole), z: 0, fit: .cover)
        }
        let panes = LayoutEngine.scene(
            of: places, heard: [], background: nil, canvas: Canvas(width: 1280, height: 720, fps: 25)
        ).panes
        #expect(panes.map(\.x).dropFirst() == panes.map { $0.x + $0.width }.dropLast())
        #expect(panes.last.map { $0.x + $0.width } == 1280)
    }

    /// Only layouts set the text on the card of a stream that has stalled.
    @Test func noTextIsOnTheCardOfAPlace() {
        let places = [
            Place(area: .canvas, z: 0, fit: .contain, occupant: person("a")),
            Place(area: .canvas, z: 1, fit: .contain, occupant: person("b"), placeholder: "images/wait.png"),
        ]
        let panes = LayoutEngine.scene(of: places, heard: [], background: nil, canvas: .portrait).panes
        #expect(panes.count == 2 && panes.allSatisfy { Card.Notice(of: $0, height: $0.height) == nil })
    }

    @Test func aMatteIsPartOfWhatAMixerIsToldAndOfAPreview() {
        let place = Place(area: .canvas, z: 0, fit: .contain)
        let scene = LayoutEngine.scene(of: [place], heard: [person("a")], background: nil, canvas: .portrait)
        #expect(scene.panes.map(\.matte) == [.black] && scene.panes.map(\.fallback) == [.nothing])
        #expect(scene.sound.levels.map(\.source) == ["a/camera"])
        var other = scene
        other.panes[0].matte = nil
        #expect(scene.difference(from: other).changed == scene.panes)
        #expect(other.applying(scene.difference(from: other)) == scene)
    }
}
