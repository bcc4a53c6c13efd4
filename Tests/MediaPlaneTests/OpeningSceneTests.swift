import LayoutEngine
import MixModel
import Testing

@testable import ProgramRelay

/// The scene with which a mix follows a bypass.
@Suite struct OpeningSceneTests {
    @Test(arguments: [(Pane.Fit.cover, Pane.Fit.cover), (.stretch, .cover), (.contain, .contain)])
    func itIsLikeTheBypassAndCropsNoScreen(_ fit: Pane.Fit, _ expected: Pane.Fit) throws {
        let pane = Pane(source: "alice/screen", user: "alice", x: 10, y: 20, width: 100, height: 200, fit: fit)
        let scene = Scene(canvas: .portrait, panes: [pane])
        let opening = try #require(scene.opening(with: SourceID("alice/screen")))
        let shown = try #require(opening.panes.first)
        #expect(opening.panes.count == 1 && shown.fit == expected)
        #expect([shown.x, shown.y, shown.width, shown.height] == [0, 0, 720, 1280])
        #expect(scene.opening(with: SourceID("bob/camera")) == nil)
    }
}
