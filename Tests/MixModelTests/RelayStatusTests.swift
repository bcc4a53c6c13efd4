import LayoutEngine
import MixModel
import Testing

@Suite struct RelayStatusTests {
    private static func status(_ revision: Int, _ onAir: OnAir?, scene: Scene? = nil) -> RelayStatus {
        RelayStatus(
            task: "t", processID: 1, revision: revision, onAir: onAir, bypassSource: nil, scene: scene, sources: [],
            outputs: [], programTime: .zero)
    }
    private static func scene(_ width: Int) -> Scene {
        Scene(canvas: Canvas(width: width, height: 2, fps: 20), panes: [])
    }
    private static let plan = ProgramPlan(
        revision: 5, task: "t", room: "r", sources: [], mode: .slate, scene: scene(10), outputs: [], causedAt: 0,
        cause: "")

    @Test(arguments: [OnAir.mix, .slate])
    func aSceneThatIsLeftOutIsThePlans(_ onAir: OnAir) {
        #expect(Self.status(5, onAir).completed(by: Self.plan, after: nil).scene == Self.scene(10))
    }

    @Test func aRelayAtAnEarlierPlanStillShowsWhatItShowed() {
        let last = Self.status(4, .mix, scene: Self.scene(8))
        #expect(Self.status(4, .mix).completed(by: Self.plan, after: last).scene == Self.scene(8))
        #expect(Self.status(4, .mix).completed(by: Self.plan, after: nil).scene == nil)
    }

    @Test func whatIsSaidStands() {
        #expect(Self.status(5, .mix, scene: Self.scene(6)).completed(by: Self.plan, after: nil).scene == Self.scene(6))
    }

    @Test(arguments: [OnAir.bypass, nil])
    func withoutAMixerThereIsNoScene(_ onAir: OnAir?) {
        let last = Self.status(4, .mix, scene: Self.scene(8))
        #expect(Self.status(5, onAir).completed(by: Self.plan, after: last).scene == nil)
    }
}
