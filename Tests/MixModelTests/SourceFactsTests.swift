import Foundation
import LayoutEngine
import MixModel
import Testing

@Suite struct SourceFactsTests {
    private func status(_ sources: [SourceStatus]) -> RelayStatus {
        RelayStatus(
            task: "auto-demo", processID: 1, revision: 1, onAir: .mix, bypassSource: nil, scene: nil, sources: sources,
            outputs: [], programTime: .zero)
    }

    @Test func onlyWhatChangesAPlanIsTold() {
        var facts = SourceFacts()
        #expect(facts.take(status([SourceStatus(id: "a/camera", state: .connecting)])) == nil)
        let size = LayoutParticipant.Size(width: 640, height: 360)
        let live = SourceStatus(id: "a/camera", state: .live, pictureSize: size)
        #expect(facts.take(status([live])) == "video of a/camera is 640×360")
        #expect(facts.take(status([live])) == nil)
        #expect(facts.pictureSizes == ["a/camera": size])

        let away = SourceStatus(id: "a/camera", state: .recovering, isAbsent: true)
        let other = SourceStatus(id: "b/camera", state: .live, pictureSize: size)
        #expect(facts.take(status([away, other])) == "a/camera is absent, video of b/camera is 640×360")
        #expect(facts.absent == ["a/camera"])
        #expect(facts.pictureSizes["a/camera"] == size, "it may come back as it was")
        #expect(facts.take(status([live, other])) == "a/camera has arrived")

        let turned = SourceStatus(
            id: "a/camera", state: .live, pictureSize: LayoutParticipant.Size(width: 360, height: 640))
        #expect(facts.take(status([turned, other])) == "video of a/camera is 360×640")
        let paced = SourceStatus(id: "a/camera", state: .live, pictureSize: turned.pictureSize, frameRate: 29.97)
        #expect(facts.take(status([paced, other])) == "a/camera has 30 frames per second")
        // Streams that leave are handled by the room.
        #expect(facts.take(status([other])) == nil)
        #expect(facts.pictureSizes.count == 1 && facts.frameRates.isEmpty)
    }

    /// A relay that was restarted reports no sources until it has the plan, and then takes seconds to miss one.
    @Test func aRestartedRelayDoesNotBringBackWhoIsAbsent() {
        var facts = SourceFacts()
        let size = LayoutParticipant.Size(width: 640, height: 360)
        let live = SourceStatus(id: "a/camera", state: .live, pictureSize: size, frameRate: 20)
        let away = SourceStatus(id: "b/camera", state: .recovering, isAbsent: true)
        #expect(facts.take(status([live, away])) != nil)
        let known = facts
        #expect(known.absent == ["b/camera"] && known.pictureSizes.count == 1 && known.frameRates.count == 1)

        var first = status([])
        first.revision = 0
        #expect(facts.take(first) == nil)
        #expect(facts == known)
        let begun = [
            SourceStatus(id: "a/camera", state: .connecting), SourceStatus(id: "b/camera", state: .connecting),
        ]
        #expect(facts.take(status(begun)) == nil)
        #expect(facts == known)
        #expect(facts.take(status([live, SourceStatus(id: "b/camera", state: .recovering)])) == nil)
        #expect(facts.take(status([live, away])) == nil)
        #expect(facts == known)
        #expect(facts.take(status([live, SourceStatus(id: "b/camera", state: .live)])) == "b/camera has arrived")
    }

    /// After a restart, the task must not show participants who do not come, nor forget the shapes of pictures, until
    /// the relay reports them again.
    @Test func aTaskRemembersWhatItsPlanWasMadeOf() throws {
        var bench = TaskMachineTests.Bench()
        _ = bench.publish("alice")
        _ = bench.publish("eve")
        bench.context.absent = ["eve/camera"]
        bench.context.pictureSizes = ["alice/camera": LayoutParticipant.Size(width: 640, height: 360)]
        bench.now += 500_000_000
        #expect(bench.settingsChanged().plans.last?.mode == .bypass("alice/camera"))
        #expect(bench.task.sourceFacts == SourceFacts(absent: ["eve/camera"], pictureSizes: bench.context.pictureSizes))
        let stored = try JSONDecoder().decode(TaskMachine.self, from: try JSONEncoder().encode(bench.task))
        #expect(stored == bench.task)
        let plan = try #require(bench.task.plan)
        #expect(bench.task.restored(room: bench.room, context: bench.context, now: 5).plans == [plan])
    }
}
