import LayoutEngine
import MixModel
import Testing

/// Idle media in plans: when they are played, and how relays and stores of other releases read them.
@Suite struct IdlePlanTests {
    private typealias Bench = TaskMachineTests.Bench

    private static func bench() -> Bench {
        var bench = Bench()
        bench.room.settings.idle = IdleSettings(
            media: ["a.mp4", "https://m.example/app/b.mp4?key=1", "c.mp4"], loop: false)
        bench.context.media = ["a.mp4": "/media/a.mp4", "https://m.example/app/b.mp4?key=1": "/data/media/b"]
        return bench
    }

    private func program(of bench: Bench) -> ProgramPlanner.Program {
        ProgramPlanner.program(for: bench.room, context: bench.context, lastHost: nil)
    }

    @Test func anEmptyRoomPlaysThem() throws {
        let program = program(of: Self.bench())
        #expect(program.mode == .slate && program.scene.isIdle)
        #expect(program.scene.panes.map(\.source) == [SourceID.idle.rawValue])
        #expect(program.scene.sound.levels.map(\.source) == [SourceID.idle.rawValue])
        // An item without a file is left out, and secrets in URLs are hidden.
        let items = try #require(program.idle).items
        #expect(items.map(\.path) == ["/media/a.mp4", "/data/media/b"])
        #expect(items.map(\.name) == ["a.mp4", "https://m.example/app/***"] && program.idle?.loops == false)
        #expect(program.scene.withoutIdleMedia == LayoutEngine.slate(canvas: program.scene.canvas))
    }

    @Test func aParticipantEndsThemAndAnAbsentOneDoesNot() {
        var bench = Self.bench()
        _ = bench.publish("anna")
        #expect(program(of: bench).mode == .bypass("anna/camera") && program(of: bench).idle == nil)
        bench.context.absent = ["anna/camera"]
        let idle = program(of: bench)
        #expect(idle.mode == .slate && idle.scene.isIdle && idle.sources.map(\.id) == ["anna/camera"])
        _ = bench.publish("bert")
        #expect(program(of: bench).idle == nil, "bert is there")
    }

    @Test func withoutAnyFileTheSlateIsShown() {
        var bench = Self.bench()
        bench.context.media = [:]
        #expect(program(of: bench).idle == nil && program(of: bench).scene.panes.isEmpty)
    }

    @Test func aProgramOfOneTrackPlaysOnlyThat() {
        var bench = Self.bench()
        bench.room.settings.program = ProgramSettings(encoding: EncodingSettings(audioOnly: true))
        let program = program(of: bench)
        #expect(program.scene.panes.isEmpty && program.scene.sound.levels.count == 1 && program.scene.isIdle)
        #expect(!Scene(canvas: .portrait, panes: []).isIdle)
    }
}
