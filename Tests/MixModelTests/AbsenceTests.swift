import LayoutEngine
import MixModel
import Testing

/// Announced participants who do not come.
@Suite struct AbsenceTests {
    private func program(of users: [UserID], absent: Set<SourceID>) -> ProgramPlanner.Program {
        var bench = TaskMachineTests.Bench()
        for user in users { _ = bench.publish(user) }
        bench.context.absent = absent
        return ProgramPlanner.program(for: bench.room, context: bench.context, lastHost: nil)
    }

    @Test func theOthersShareThePicture() {
        let program = program(of: ["alice", "eve", "bob"], absent: ["eve/camera"])
        #expect(program.mode == .mix(host: "alice/camera"))
        #expect(program.scene.panes.map(\.user).sorted() == ["alice", "bob"])
        #expect(program.sources.map(\.id) == ["alice/camera", "eve/camera", "bob/camera"])
    }

    @Test func whoIsLeftAloneIsBypassed() {
        let program = program(of: ["alice", "eve"], absent: ["eve/camera"])
        #expect(program.mode == .bypass("alice/camera"))
        #expect(program.sources.count == 2)
    }

    @Test func anAbsentHostLeavesThePictureToTheGuest() {
        #expect(program(of: ["alice", "bob"], absent: ["alice/camera"]).mode == .bypass("bob/camera"))
    }

    @Test func whenNobodyComesThePlanIsAsAnnounced() {
        let all: Set<SourceID> = ["alice/camera", "bob/camera"]
        #expect(program(of: ["alice", "bob"], absent: all).mode == .mix(host: "alice/camera"))
    }

    /// A relay that repeatedly cannot start for the same reason is recorded once.
    @Test func theSameLossIsToldOnce() {
        var bench = TaskMachineTests.Bench()
        _ = bench.publish("alice")
        let records = (0..<5).map { _ in
            bench.task.relayLost("mixworker is not there", now: bench.now).count { action in
                if case .record = action { true } else { false }
            }
        }
        #expect(records == [1, 0, 0, 0, 0])
        #expect(bench.task.lastError == "mixworker is not there")
    }
}
