import LayoutEngine
import MixModel
import TestSupport
import Testing

/// Tasks with settings of their own.
@Suite struct ExplicitTaskTests {
    private static let outputs = [PushDestination(id: "own", url: "rtmp://127.0.0.1/own/key")]

    private func bench(_ settings: RoomSettings = RoomSettings(outputs: outputs)) -> TaskMachineTests.Bench {
        var bench = TaskMachineTests.Bench()
        bench.task = TaskMachine(id: "auto-demo", room: "demo", settings: settings, version: 1)
        return bench
    }
    private func cause(_ bench: TaskMachineTests.Bench) -> Cause { Cause(receivedAt: bench.now, summary: "test") }

    @Test func itWaitsForAStreamAndPushesToItsOwnOutputs() throws {
        var bench = bench()
        bench.room.settings = RoomSettings(host: "zoe", outputs: [])
        #expect(bench.settingsChanged().isEmpty)
        #expect(bench.task.phase == .waiting(after: nil))
        let plan = try #require(bench.publish("alice").plans.first)
        #expect(plan.outputs.destinations == Self.outputs)
        #expect(plan.mode == .bypass("alice/camera"))
    }

    @Test func itComesBackAfterIdlenessAndNeverAfterItsDeletion() throws {
        var bench = bench()
        _ = bench.publish("alice")
        _ = bench.connect()
        bench.now += 1_000_000_000
        let (token, time) = try #require(bench.unpublish("alice").deadlines.first { $0.0.kind == .idle })
        bench.now = time
        #expect(bench.pass(token).contains(.drainRelay))
        _ = bench.task.relayDrained()
        #expect(bench.task.phase == .waiting(after: .idle))
        #expect(bench.publish("alice").contains(.launchRelay))

        #expect(bench.task.stopRequested(cause: cause(bench)).contains(.drainRelay))
        #expect(bench.task.isFinishing && !bench.task.isFinished)
        _ = bench.task.relayDrained()
        #expect(bench.task.isFinished)
        _ = bench.unpublish("alice")
        #expect(bench.publish("alice").isEmpty)
        #expect(bench.task.restored(room: bench.room, context: bench.context, now: bench.now).isEmpty)
        #expect(bench.task.stopRequested(cause: cause(bench)).isEmpty)
    }

    private func idleBench(_ rule: RoomPolicy.WhenIdle, seconds: Int = 60) -> TaskMachineTests.Bench {
        bench(
            RoomSettings(outputs: Self.outputs, policy: RoomPolicy(maxIdleSeconds: seconds, whenIdle: rule)))
    }

    @Test func itMayEndForGoodWhenItWasIdle() throws {
        var bench = idleBench(.finish)
        // The task also ends if no stream ever comes.
        let (first, end) = try #require(bench.settingsChanged().deadlines.first { $0.0.kind == .idle })
        #expect(end == bench.now + 60_000_000_000)
        #expect(bench.settingsChanged().deadlines.isEmpty, "the time goes on")
        var unused = bench
        unused.now = end
        #expect(!unused.pass(first).isEmpty)
        #expect(unused.task.phase == .finished(.idle))

        _ = bench.publish("alice")
        _ = bench.connect()
        #expect(bench.pass(first).isEmpty, "somebody came meanwhile")
        bench.now += 1_000_000_000
        let (token, time) = try #require(bench.unpublish("alice").deadlines.first { $0.0.kind == .idle })
        bench.now = time
        #expect(bench.pass(token).contains(.drainRelay))
        #expect(bench.task.isFinishing && !bench.task.isFinished)
        _ = bench.task.relayDrained()
        #expect(bench.task.phase == .finished(.idle))
        #expect(bench.publish("alice").isEmpty)
    }

    @Test func waitingForCapacityIsNotIdleness() throws {
        var bench = idleBench(.finish)
        let (first, end) = try #require(bench.settingsChanged().deadlines.first { $0.0.kind == .idle })
        bench.context.admission = Admission(availableCores: 0, costs: CostModel())
        #expect(bench.publish("alice").plans.isEmpty)
        #expect(bench.task.phase == .waiting(after: .noCapacity))
        bench.now = end
        #expect(bench.pass(first).isEmpty)
        #expect(bench.task.phase == .waiting(after: .noCapacity))
        // When the streams have left, the time starts anew.
        let (second, time) = try #require(bench.unpublish("alice").deadlines.first { $0.0.kind == .idle })
        #expect(second != first && time == bench.now + 60_000_000_000)
        bench.now = time
        #expect(!bench.pass(second).isEmpty)
        #expect(bench.task.phase == .finished(.idle))
    }

    @Test func itMayEndForGoodWithItsRoom() throws {
        var bench = idleBench(.finishWithRoom)
        let (_, day) = try #require(bench.settingsChanged().deadlines.first { $0.0.kind == .idle })
        #expect(day == bench.now + 86_400_000_000_000, "before it was on air it waits for a day")
        _ = bench.tell(.participantJoined(user: "bob", role: nil, name: nil))
        _ = bench.publish("alice")
        _ = bench.connect()
        bench.now += 1_000_000_000
        #expect(bench.unpublish("alice").deadlines.allSatisfy { $0.0.kind != .idle }, "bob is still in the room")
        bench.now += 1_000_000_000
        let left = bench.tell(.participantLeft(user: "bob"))
        let (token, time) = try #require(left.deadlines.first { $0.0.kind == .idle })
        #expect(time == bench.now + 60_000_000_000)
        var closed = bench
        #expect(closed.tell(.roomClosed).contains(.drainRelay), "a room that is closed is over at once")
        _ = closed.task.relayDrained()
        #expect(closed.task.phase == .finished(.roomClosed))
        bench.now = time
        #expect(bench.pass(token).contains(.drainRelay))
        _ = bench.task.relayDrained()
        #expect(bench.task.phase == .finished(.idle))
    }

    @Test func aClosedRoomCanHaveATaskForTheNextTime() {
        var bench = idleBench(.finishWithRoom)
        _ = bench.publish("alice")
        var next = idleBench(.finishWithRoom)
        next.room = bench.room
        _ = RoomMachine.apply(RoomEvent(room: "demo", source: "t", id: "close", kind: .roomClosed), to: &next.room)
        _ = next.settingsChanged()
        #expect(next.task.phase == .waiting(after: nil))
        #expect(next.publish("alice").contains(.launchRelay))
        #expect(next.tell(.roomClosed).contains(.drainRelay))
    }

    @Test func waitingTasksEndWithTheirRoom() {
        var bench = idleBench(.finishWithRoom)
        _ = bench.settingsChanged()
        _ = bench.tell(.participantJoined(user: "bob", role: nil, name: nil))
        _ = bench.tell(.roomClosed)
        #expect(bench.task.phase == .finished(.roomClosed))
    }

    @Test func aDeletionWhileItEndsForAnotherReasonCounts() {
        var bench = bench()
        _ = bench.publish("alice")
        _ = bench.tell(.roomClosed)
        #expect(bench.task.phase == .ending(.roomClosed))
        #expect(!bench.task.stopRequested(cause: cause(bench)).contains(.drainRelay), "it is being drained already")
        _ = bench.task.relayDrained()
        #expect(bench.task.phase == .finished(.requested))
    }

    @Test func aWaitingTaskIsDeletedAtOnce() {
        var bench = bench()
        #expect(!bench.task.stopRequested(cause: cause(bench)).isEmpty)
        #expect(bench.task.phase == .finished(.requested))
    }

    @Test func otherSettingsActOnAirWithTheSameRelay() throws {
        var bench = bench()
        _ = bench.publish("alice")
        let more = Self.outputs + [PushDestination(id: "more", url: "rtmp://127.0.0.1/more/key")]
        bench.task.change(to: RoomSettings(outputs: more), version: 2)
        let actions = bench.settingsChanged()
        #expect(!actions.contains(.launchRelay) && !actions.contains(.drainRelay))
        #expect(try #require(actions.plans.first).outputs.destinations == more)
        // A repetition of the first request is still recognised.
        #expect(bench.task.wasMade(with: RoomSettings(outputs: Self.outputs)))
        #expect(!bench.task.wasMade(with: RoomSettings(outputs: more)))
    }

    /// An explicit task behaves exactly like an automatic one in a room that has its settings.
    @Test func settingsOfItsOwnAreAsGoodAsTheRooms() {
        var random = SeededGenerator(announcedFor: "explicit task")
        let seed = random.seed
        for run in 0..<300 {
            let settings = Self.settings(&random)
            var explicit = bench(settings)
            explicit.room.settings = Self.settings(&random)
            var automatic = TaskMachineTests.Bench()
            automatic.room.settings = settings
            for step in 0..<Int.random(in: 1...40, using: &random) {
                let pause = Int64.random(in: 0...400_000_000, using: &random)
                let user = UserID("u\(Int.random(in: 0..<3, using: &random))")
                let choice = Int.random(in: 0..<10, using: &random)
                let video = Int.random(in: 0..<4, using: &random) > 0
                let act = { (bench: inout TaskMachineTests.Bench) -> [TaskAction] in
                    bench.now += pause
                    switch choice {
                    case 0..<5: return bench.publish(user, video: video, role: video ? .host : nil)
                    case 5..<8: return bench.unpublish(user)
                    case 8: return bench.connect()
                    default: return bench.task.relayLost("killed", now: bench.now)
                    }
                }
                #expect(act(&explicit) == act(&automatic), "seed \(seed), run \(run), step \(step)")
            }
            #expect(explicit.task.plan == automatic.task.plan, "seed \(seed), run \(run)")
            #expect(explicit.task.phase == automatic.task.phase, "seed \(seed), run \(run)")
        }
    }

    private static func settings(_ random: inout SeededGenerator) -> RoomSettings {
        RoomSettings(
            host: Bool.random(using: &random) ? "u1" : nil,
            outputs: (0...Int.random(in: 0...2, using: &random)).map {
                PushDestination(
                    id: OutputID("o\($0)"), url: "rtmp://127.0.0.1/\(Int.random(in: 0..<9, using: &random))")
            },
            canvas: Bool.random(using: &random) ? RoomCanvas(.portrait) : nil,
            policy: RoomPolicy(
                bypass: RoomPolicy.Bypass.allCases.randomElement(using: &random) ?? .auto,
                whenHostLeaves: RoomPolicy.WhenHostLeaves.allCases.randomElement(using: &random) ?? .promote,
                maxIdleSeconds: Int.random(in: 0...5, using: &random)))
    }

    // MARK: Causes

    @Test func everythingThatACauseLedToCarriesIt() throws {
        var bench = TaskMachineTests.Bench()
        func publish(_ user: UserID, _ id: CauseID) -> [TaskAction] {
            let event = RoomEvent(
                room: "demo", source: "t", id: id.rawValue,
                kind: .streamPublished(Publication(user: user, url: "rtmp://127.0.0.1/\(user)")))
            _ = RoomMachine.apply(event, to: &bench.room)
            return bench.task.roomChanged(
                bench.room, context: bench.context,
                cause: Cause(receivedAt: bench.now, summary: event.summary, id: id), urgency: .debounced,
                now: bench.now)
        }
        let started = publish("alice", "c1")
        #expect(started.entries.count == 2 && started.entries.allSatisfy { $0.causes == ["c1"] })
        #expect(started.plans.first?.causes == ["c1"])
        #expect(bench.connect().entries.map(\.causes) == [["c1"]])
        // Two events that are planned together are both recorded as causes.
        bench.now += 10_000_000
        let held = publish("bob", "c2")
        bench.now += 10_000_000
        _ = publish("carol", "c3")
        let (token, time) = try #require(held.deadlines.first)
        bench.now = time
        #expect(bench.pass(token).plans.first?.causes == ["c2", "c3"])
        // A relay that dies is a cause of its own.
        let lost = bench.task.relayLost("killed", now: bench.now, origin: "c4")
        #expect(lost.entries.map(\.causes) == [["c4"]])
        let (again, _) = try #require(lost.deadlines.first)
        #expect(bench.pass(again).plans.first?.causes == ["c4"])
        #expect(bench.connect().entries.map(\.causes) == [["c4"]])
    }
}
