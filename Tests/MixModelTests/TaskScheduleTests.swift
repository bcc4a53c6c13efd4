import LayoutEngine
import MixModel
import Testing

/// Tasks that start and end at a time of day.
@Suite struct TaskScheduleTests {
    private static let outputs = [PushDestination(id: "own", url: "rtmp://127.0.0.1/own/key")]
    private static let second: Int64 = 1_000_000_000

    /// Returns a task with this schedule, at 1000 s of the wall clock.
    private func bench(
        _ startsAt: Double?, _ endsAt: Double?, whenIdle: RoomPolicy.WhenIdle = .wait
    ) -> TaskMachineTests.Bench {
        var bench = TaskMachineTests.Bench()
        bench.context.wallClock = 1000
        let settings = RoomSettings(
            outputs: Self.outputs, policy: RoomPolicy(maxIdleSeconds: 60, whenIdle: whenIdle),
            schedule: TaskSchedule(startsAt: startsAt, endsAt: endsAt))
        bench.task = TaskMachine(id: "auto-demo", room: "demo", settings: settings, version: 1)
        return bench
    }

    private func pass(_ seconds: Double, _ bench: inout TaskMachineTests.Bench) {
        bench.now += Int64(seconds * 1e9)
        bench.context.wallClock += seconds
    }

    private func scheduled(_ actions: [TaskAction]) -> (token: DeadlineToken, at: Int64)? {
        actions.deadlines.first { $0.0.kind == .schedule }.map { ($0.0, $0.1) }
    }

    @Test func itStartsAtItsTimeAndNotWithTheStream() throws {
        var bench = bench(1100, nil)
        let start = try #require(scheduled(bench.settingsChanged()))
        #expect(start.at == bench.now + 100 * Self.second)
        let early = bench.publish("alice")
        #expect(!early.contains(.launchRelay) && scheduled(early) == nil, "its deadline is awaited already")
        pass(100, &bench)
        let actions = bench.pass(start.token)
        #expect(actions.contains(.launchRelay))
        #expect(actions.plans.first?.mode == .bypass("alice/camera"))
        #expect(actions.plans.first?.cause == "scheduled start")
        #expect(scheduled(actions) == nil, "nothing is to come")
    }

    @Test func withoutAnEndItWaitsForItsStream() throws {
        var bench = bench(1100, nil)
        let start = try #require(scheduled(bench.settingsChanged()))
        pass(100, &bench)
        #expect(!bench.pass(start.token).contains(.launchRelay))
        #expect(bench.publish("alice").contains(.launchRelay))
    }

    @Test func betweenItsTimesItIsOnAirWithOrWithoutParticipants() throws {
        var bench = bench(1100, 4000)
        let start = try #require(scheduled(bench.settingsChanged()))
        pass(100, &bench)
        let began = bench.pass(start.token)
        #expect(began.contains(.launchRelay) && began.plans.first?.mode == .slate)
        #expect(!began.deadlines.contains { $0.0.kind == .idle }, "it is not idle")
        _ = bench.connect()
        bench.now += Self.second
        #expect(bench.publish("alice").plans.first?.mode == .bypass("alice/camera"))
        bench.now += Self.second
        let left = bench.unpublish("alice")
        #expect(left.plans.first?.mode == .slate && !left.deadlines.contains { $0.0.kind == .idle })
    }

    @Test func itEndsAtItsTimeForGood() throws {
        var bench = bench(nil, 1300)
        let began = bench.publish("alice")
        let end = try #require(scheduled(began))
        #expect(began.contains(.launchRelay) && end.at == bench.now + 300 * Self.second)
        _ = bench.connect()
        pass(300, &bench)
        #expect(bench.pass(end.token).contains(.drainRelay))
        #expect(bench.task.phase == .ending(.scheduled))
        _ = bench.task.relayDrained()
        #expect(bench.task.phase == .finished(.scheduled))
        #expect(bench.publish("bob").isEmpty)
    }

    @Test func aTaskThatNeverStartedEndsToo() throws {
        var bench = bench(1100, 1200)
        bench.room.settings = RoomSettings(outputs: [])
        _ = bench.settingsChanged()
        pass(5000, &bench)
        #expect(!bench.settingsChanged().contains(.launchRelay))
        #expect(bench.task.phase == .finished(.scheduled))
    }

    /// The schedule holds across a restart of the machine or the service, since its times are those of the wall clock.
    @Test func itIsKeptAcrossARestart() throws {
        var bench = bench(1100, 4000)
        _ = bench.settingsChanged()
        bench.now = 7 * Self.second
        bench.context.wallClock = 1050
        let restored = bench.task.restored(room: bench.room, context: bench.context, now: bench.now)
        let start = try #require(scheduled(restored))
        #expect(start.at == 57 * Self.second)
        bench.now = 9 * Self.second
        bench.context.wallClock = 2000
        let late = bench.task.restored(room: bench.room, context: bench.context, now: bench.now)
        #expect(late.contains(.launchRelay), "its start was missed")
        bench.context.wallClock = 5000
        let over = bench.task.restored(room: bench.room, context: bench.context, now: bench.now)
        #expect(over.contains(.drainRelay) && bench.task.phase == .ending(.scheduled))
    }

    @Test func aClockThatIsSetIsFollowed() throws {
        var bench = bench(1100, nil)
        let start = try #require(scheduled(bench.settingsChanged()))
        _ = bench.publish("alice")
        // The clock was set back by an hour: the start is still to come, and is checked every ten minutes.
        bench.now = start.at
        bench.context.wallClock = 1100 - 3600
        let early = bench.pass(start.token)
        #expect(!early.contains(.launchRelay))
        let again = try #require(scheduled(early))
        #expect(again.at == bench.now + 600 * Self.second)
        // The clock is right again.
        bench.now = again.at
        bench.context.wallClock = 1700
        #expect(bench.pass(again.token).contains(.launchRelay))
    }

    @Test func anotherTimeReplacesTheFirst() throws {
        var bench = bench(1100, nil)
        let first = try #require(scheduled(bench.settingsChanged()))
        _ = bench.publish("alice")
        bench.task.change(
            to: RoomSettings(outputs: Self.outputs, schedule: TaskSchedule(startsAt: 1500)), version: 2)
        let second = try #require(scheduled(bench.settingsChanged()))
        pass(100, &bench)
        #expect(bench.pass(first.token).isEmpty, "it is no longer current")
        pass(400, &bench)
        #expect(bench.pass(second.token).contains(.launchRelay))
        // Without a schedule, the task starts with its stream.
        var free = self.bench(1100, nil)
        _ = free.publish("alice")
        free.task.change(to: RoomSettings(outputs: Self.outputs), version: 2)
        #expect(free.settingsChanged().contains(.launchRelay))
    }

    @Test func aTaskThatFinishesWhenIdleWaitsForItsStart() {
        var bench = bench(5000, nil, whenIdle: .finish)
        #expect(!bench.settingsChanged().deadlines.contains { $0.0.kind == .idle })
        pass(4000, &bench)
        #expect(bench.settingsChanged().deadlines.contains { $0.0.kind == .idle })
    }

    @Test(arguments: [Double.infinity, 1e300, -1e300, .nan, 253_402_300_799])
    func timesBeyondAllBoundsTrapNowhere(time: Double) {
        var bench = bench(time, nil)
        _ = bench.publish("alice")
        bench = self.bench(nil, time)
        _ = bench.publish("alice")
    }
}
