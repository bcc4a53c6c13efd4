import LayoutEngine
import MixModel
import Testing

/// A task that the machine cannot carry, and a task whose mix is made cheaper.
@Suite struct AdmissionTests {
    typealias Bench = TaskMachineTests.Bench

    private static func admission(_ cores: Double) -> Admission {
        Admission(availableCores: cores, costs: CostModel())
    }

    @Test func aTaskThatDoesNotFitIsNotStartedAndSaysWhy() throws {
        var bench = Bench()
        bench.context.admission = Self.admission(0.05)
        let actions = bench.publish("alice")
        #expect(!actions.contains(.launchRelay))
        #expect(bench.task.phase == .waiting(after: .noCapacity))
        #expect(bench.task.awaitsCapacity && !bench.task.isActive)
        #expect(bench.task.plan == nil && bench.task.revision == 0)
        let error = try #require(bench.task.lastError)
        #expect(
            error.contains("needs 0.") && error.contains("0.05 are free") && error.contains("automatically"), "\(error)"
        )
        guard case .record(let entry)? = actions.first, actions.count == 1 else {
            Issue.record("expected one entry: \(actions)")
            return
        }
        #expect(entry.message.contains("task does not start: no capacity"))
        #expect(entry.cause == "stream.published alice/camera")
        // Another attempt is not recorded again; the task contains the newest figures.
        bench.context.admission = Self.admission(0.07)
        #expect(bench.publish("bob").isEmpty)
        #expect(bench.task.lastError?.contains("0.07 are free") == true)
    }

    @Test func itStartsWhenThereIsRoom() {
        var bench = Bench()
        bench.context.admission = Self.admission(0)
        _ = bench.publish("alice")
        bench.context.admission = Self.admission(4)
        let actions = bench.settingsChanged()
        #expect(actions.contains(.launchRelay))
        #expect(bench.task.phase == .starting && bench.task.lastError == nil)
        #expect(actions.plans.map(\.mode) == [.bypass("alice/camera")])
    }

    @Test func whoLeavesMeanwhileIsForgotten() {
        var bench = Bench()
        bench.context.admission = Self.admission(0)
        _ = bench.publish("alice")
        _ = bench.unpublish("alice")
        #expect(bench.task.phase == .waiting(after: nil) && bench.task.lastError == nil)
    }

    @Test func aRestartTriesAgain() {
        var bench = Bench()
        bench.context.admission = Self.admission(0)
        _ = bench.publish("alice")
        #expect(bench.task.restored(room: bench.room, context: bench.context, now: bench.now).isEmpty)
        #expect(bench.task.awaitsCapacity)
        bench.context.admission = Self.admission(4)
        #expect(bench.task.restored(room: bench.room, context: bench.context, now: bench.now).contains(.launchRelay))
    }

    /// A program on air is never refused anything.
    @Test func whatRunsGoesOnAndMayBecomeAMix() {
        var bench = Bench()
        bench.context.admission = Self.admission(4)
        _ = bench.publish("alice")
        _ = bench.connect()
        bench.context.admission = Self.admission(-3)
        bench.now += TaskMachine.debounceWindow
        #expect(bench.publish("bob").plans.map(\.mode) == [.mix(host: "alice/camera")])
        #expect(bench.task.restored(room: bench.room, context: bench.context, now: bench.now).contains(.launchRelay))
    }

    /// A bypass costs little, but there must be capacity for it to become a mix.
    @Test func aBypassNeedsRoomToBecomeAMix() {
        let program = ProgramPlanner.program(for: Bench.roomWithAlice, context: Bench().context, lastHost: nil)
        let admission = Self.admission(1)
        #expect(admission.bookedCores(program) < 0.05)
        #expect(admission.neededCores(program) > 0.15)
        #expect(admission.neededCores(program) == CostModel().cores(.mixOfTwo(on: .portrait)))
    }

    // MARK: Degradation

    @Test func aLevelIsAPlanOfItsOwnWithTheSameSources() throws {
        var bench = Bench()
        _ = bench.publish("alice")
        bench.now += TaskMachine.debounceWindow
        let before = try #require(bench.publish("bob").plans.first)
        bench.context.load.degradation = Degradation(level: 2, reason: "the machine is 97 % busy")
        let actions = bench.settingsChanged()
        let plan = try #require(actions.plans.first)
        #expect(plan.revision == before.revision + 1)
        #expect(plan.sources == before.sources && plan.scene == before.scene && plan.mode == before.mode)
        #expect(plan.degradation?.level == 2 && plan.degradation?.frameDivisor == 3)
        // New figures of the same level change nothing.
        bench.context.load.degradation?.reason = "the machine is 95 % busy"
        #expect(bench.settingsChanged().plans.isEmpty)
        bench.context.load.degradation = nil
        #expect(bench.settingsChanged().plans.map(\.degradation) == [nil])
    }

    @Test func theTimelineTellsEveryStep() throws {
        var bench = Bench()
        _ = bench.publish("alice")
        bench.now += TaskMachine.debounceWindow
        _ = bench.publish("bob")
        bench.context.load.degradation = Degradation(level: 1, reason: "r")
        let entries = bench.settingsChanged().compactMap { action -> TimelineEntry? in
            if case .record(let entry) = action { entry } else { nil }
        }
        #expect(
            entries.map(\.message) == [
                "plan 3: mix of 2, host alice/camera, 2 panes, every 2nd frame is rendered (load level 1)"
            ])
    }

    @Test func nobodyIsMixedInWhileABypassIsHeld() throws {
        var bench = Bench()
        _ = bench.publish("alice")
        bench.context.load.holdsBypass = "the machine is overloaded"
        bench.now += TaskMachine.debounceWindow
        let plan = try #require(bench.publish("bob").plans.first)
        #expect(plan.mode == .bypass("alice/camera"))
        #expect(plan.sources.map(\.id) == ["alice/camera", "bob/camera"], "the guest is pulled, to be ready")
        // After the host has left, the program continues with the remaining participant.
        bench.now += TaskMachine.debounceWindow
        #expect(bench.unpublish("alice").plans.map(\.mode) == [.bypass("bob/camera")])
        bench.now += TaskMachine.debounceWindow
        _ = bench.publish("carol")
        #expect(bench.task.plan?.mode == .bypass("bob/camera"))
        bench.context.load.holdsBypass = nil
        #expect(bench.settingsChanged().plans.first?.mode == .mix(host: "bob/camera"))
        // A mix that is on air stays a mix.
        bench.context.load.holdsBypass = "the machine is overloaded"
        #expect(bench.settingsChanged().plans.isEmpty)
    }
}

extension TaskMachineTests.Bench {
    static var roomWithAlice: Room {
        var bench = Self()
        _ = bench.publish("alice")
        return bench.room
    }
}
