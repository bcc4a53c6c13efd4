import LayoutEngine
import Testing

@testable import MixModel

/// Operators' settings for single users, and their effect on programs.
@Suite struct ParticipantControlTests {
    private typealias Bench = TaskMachineTests.Bench

    private func program(of bench: Bench, lastHost: UserID? = nil) -> ProgramPlanner.Program {
        ProgramPlanner.program(for: bench.room, context: bench.context, lastHost: lastHost)
    }

    private func set(
        _ room: inout Room, _ user: UserID, _ change: ParticipantControlChange,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let isTaken = room.control(user, change)
        #expect(isTaken, sourceLocation: sourceLocation)
    }

    private func bench(_ users: UserID...) -> Bench {
        var bench = Bench()
        for user in users { _ = bench.publish(user) }
        return bench
    }

    @Test func mutingOneWhoIsAloneKeepsTheBypass() {
        var bench = bench("anna")
        set(&bench.room, "anna", .init(muted: true))
        let program = program(of: bench)
        #expect(program.mode == .bypass("anna/camera"))
        #expect(program.sources.first?.muted == true && program.sources.first?.audio == false)
        #expect(program.scene.sound.levels.isEmpty, "a mix that bridges is silent, too")
        set(&bench.room, "anna", .init(muted: false))
        #expect(self.program(of: bench).sources.first?.muted == nil)
    }

    @Test func mutedPeopleAreSeenAndNotHeardInAMix() {
        var bench = bench("anna", "bert")
        set(&bench.room, "bert", .init(muted: true, gain: 200))
        let program = program(of: bench)
        #expect(program.scene.panes.map(\.user) == ["anna", "bert"])
        #expect(program.scene.sound.levels == [.init(source: "anna/camera")])
        #expect(program.sources.map(\.muted) == [nil, true])
    }

    @Test func aGainIsAppliedToTheMixAndMakesOneOfASingleStream() throws {
        var bench = bench("anna", "bert")
        bench.context.template = try LayoutTemplate.decode(
            """
            {"arrangements": [{"algorithm": "grid",
                "audio": {"gains": [{"user": "bert", "gain": 1.5}]}}]}
            """.utf8, name: "t")
        set(&bench.room, "bert", .init(gain: 50))
        #expect(program(of: bench).scene.sound.levels.map(\.gain) == [100, 75])
        set(&bench.room, "bert", .init(gain: 400))
        #expect(program(of: bench).scene.sound.levels.map(\.gain) == [100, 400], "never above the largest gain")
        _ = bench.unpublish("anna")
        #expect(program(of: bench).mode == .mix(host: "bert/camera"))
        set(&bench.room, "bert", .init(gain: 100))
        #expect(program(of: bench).mode == .bypass("bert/camera"))
        set(&bench.room, "bert", .init(gain: 0))
        #expect(program(of: bench).mode == .bypass("bert/camera"), "silence needs no mix")
        #expect(program(of: bench).sources.first?.muted == true)
    }

    @Test func hiddenPeopleAreAsIfTheyHadNotJoined() {
        var bench = bench("anna", "bert")
        let alone = program(of: self.bench("anna"))
        set(&bench.room, "bert", .init(hidden: true))
        #expect(program(of: bench).mode == alone.mode && program(of: bench).sources == alone.sources)
        #expect(program(of: bench).scene == alone.scene)
        // The next participant becomes host, as if the host had left.
        set(&bench.room, "bert", .init(hidden: false))
        set(&bench.room, "anna", .init(hidden: true))
        let next = program(of: bench, lastHost: "anna")
        #expect(next.host == "bert" && next.mode == .bypass("bert/camera"))
        bench.room.settings.policy.whenHostLeaves = .slate
        #expect(program(of: bench, lastHost: "anna").mode == .slate)
    }

    @Test func hidingTheOnlyOneGivesTheSlateAndThenIdleness() throws {
        var bench = bench("anna")
        _ = bench.connect()
        set(&bench.room, "anna", .init(hidden: true))
        #expect(!bench.context.hasStreams(for: bench.room) && bench.room.hasStreams)
        let actions = bench.settingsChanged()
        #expect(actions.plans.first?.mode == .slate)
        let deadline = try #require(
            actions.compactMap { if case .scheduleDeadline(let token, _) = $0 { token } else { nil } }.last)
        #expect(bench.pass(deadline).contains(.drainRelay))
        // When she is shown again, the task starts as with its first stream.
        _ = bench.task.relayDrained()
        set(&bench.room, "anna", .init(hidden: false))
        #expect(bench.settingsChanged().contains(.launchRelay))
    }

    @Test func programsOfOneStreamAndOfOwnPanesFollow() {
        var bench = bench("anna", "bert")
        bench.room.settings.program = ProgramSettings(composition: .single(SourceSelection(user: "bert")))
        #expect(program(of: bench).mode == .bypass("bert/camera"))
        set(&bench.room, "bert", .init(gain: 150))
        #expect(program(of: bench).mode == .mix(host: "bert/camera"))
        #expect(program(of: bench).scene.sound.levels.map(\.gain) == [150])
        set(&bench.room, "bert", .init(hidden: true))
        #expect(program(of: bench).mode == .slate)
        bench.room.settings.program = ProgramSettings(
            composition: .fixed(
                FixedComposition(panes: [FixedPane(x: .zero, y: .zero, width: .whole, height: .whole)])))
        #expect(program(of: bench).scene.sound.levels.map(\.source) == ["anna/camera"])
        set(&bench.room, "anna", .init(muted: true))
        #expect(program(of: bench).scene.sound.levels.isEmpty)
        #expect(program(of: bench).scene.panes.map(\.source) == ["anna/camera"])
    }

    @Test func controlsOutliveDeparturesAndTheRoomsClosing() {
        var bench = bench("anna")
        set(&bench.room, "anna", .init(muted: true))
        _ = bench.unpublish("anna")
        _ = bench.publish("anna")
        #expect(program(of: bench).sources.first?.muted == true)
        _ = bench.tell(.roomClosed)
        _ = bench.publish("anna")
        #expect(program(of: bench).sources.first?.muted == true)
    }

    @Test func theyAreBoundedAndOrdered() {
        var room = Room(id: "demo")
        for number in (0..<Room.mostControls).reversed() {
            set(&room, UserID("u\(number)"), .init(hidden: true))
        }
        let full = room
        let isTaken = room.control("another", .init(muted: true))
        #expect(!isTaken)
        #expect(room == full)
        // Known users can be changed, and default settings take no place.
        set(&room, "u7", .init(muted: true))
        set(&room, "u8", .init(hidden: false))
        set(&room, "another", .init(muted: true))
        #expect(room.allControls.count == Room.mostControls)
        #expect(room.allControls.map(\.user) == room.allControls.map(\.user).sorted())
        for control in room.allControls {
            set(&room, control.user, .init(muted: false, gain: 100, hidden: false))
        }
        #expect(room == Room(id: "demo"))
    }

    @Test func changesAreToldInWords() {
        let usual = ParticipantControl(user: "bob")
        #expect(usual.change(since: usual) == nil)
        let all = ParticipantControl(user: "bob", muted: true, gain: 150, hidden: true)
        #expect(all.change(since: usual) == "bob: muted, gain 150 %, hidden")
        #expect(usual.change(since: all) == "bob: unmuted, gain 100 %, shown")
        #expect(ParticipantControl(user: "a", gain: .max).level == 400)
        #expect(ParticipantControl(user: "a", gain: -7).level == 0)
    }
}
