import LayoutEngine
import MixModel
import Testing

@Suite struct TaskMachineTests {
    /// A room and its task, controlled by the test. Time is a number.
    struct Bench {
        var room = Room(id: "demo")
        var task = TaskMachine(id: "auto-demo", room: "demo")
        var context = PlanningContext(
            template: LayoutTemplate(
                name: "t", arrangements: [Arrangement(placement: .algorithm(.grid(tileAspect: nil)))]),
            defaultOutputs: [PushDestination(id: "main", url: "rtmp://127.0.0.1/out/demo")],
            defaultCanvas: RoomCanvas(.portrait))
        var now: Int64 = 1_000_000_000
        var number = 0

        mutating func tell(_ kind: RoomEvent.Kind) -> [TaskAction] {
            number += 1
            let event = RoomEvent(room: "demo", source: "t", id: "\(number)", kind: kind)
            guard RoomMachine.apply(event, to: &room) == .changed else { return [] }
            return task.roomChanged(
                room, context: context, cause: Cause(receivedAt: now, summary: event.summary), urgency: .debounced,
                now: now)
        }
        mutating func publish(
            _ user: UserID, _ stream: StreamKind = .camera, video: Bool = true, role: Role? = nil
        ) -> [TaskAction] {
            tell(
                .streamPublished(
                    Publication(user: user, stream: stream, url: "rtmp://127.0.0.1/\(user)", video: video, role: role)))
        }
        mutating func unpublish(_ user: UserID) -> [TaskAction] {
            tell(.streamUnpublished(user: user, stream: .camera, reason: nil))
        }
        mutating func pass(_ token: DeadlineToken) -> [TaskAction] {
            task.deadlinePassed(token, room: room, context: context, now: now)
        }
        mutating func settingsChanged() -> [TaskAction] {
            task.roomChanged(
                room, context: context, cause: Cause(receivedAt: now, summary: "settings"), urgency: .immediate,
                now: now)
        }
        mutating func connect(revision: Int = 0) -> [TaskAction] {
            task.relayConnected(
                RelayStatus(
                    task: "auto-demo", processID: 7, revision: revision, onAir: nil, bypassSource: nil, scene: nil,
                    sources: [], outputs: [], programTime: .zero), now: now)
        }
    }

    @Test func theFirstStreamStartsTheTaskInBypass() throws {
        var bench = Bench()
        let actions = bench.publish("alice")
        #expect(actions.contains(.launchRelay))
        let plan = try #require(actions.plans.first)
        #expect(plan.mode == .bypass("alice/camera"))
        #expect(plan.revision == 1)
        #expect(plan.causedAt == bench.now)
        #expect(plan.cause == "stream.published alice/camera")
        #expect(plan.sources.map(\.url) == ["rtmp://127.0.0.1/alice"])
        #expect(plan.outputs.destinations == bench.context.defaultOutputs)
        #expect(bench.task.phase == .starting)
        // The order matters: a plan can only be given to a relay that is being connected.
        let launch = try #require(actions.firstIndex(of: .launchRelay))
        let apply = try #require(actions.firstIndex(of: .apply(plan)))
        #expect(launch < apply)
    }

    @Test func nothingHappensWithoutOutputs() {
        var bench = Bench()
        bench.context.defaultOutputs = []
        #expect(bench.publish("alice").isEmpty)
        bench.room.settings.outputs = [PushDestination(id: "own", url: "rtmp://127.0.0.1/own")]
        #expect(bench.settingsChanged().plans.first?.outputs.destinations.map(\.id) == ["own"])
    }

    @Test func aSecondPersonIsMixedAtOnce() throws {
        var bench = Bench()
        _ = bench.publish("alice")
        bench.now += TaskMachine.debounceWindow
        let plan = try #require(bench.publish("bob").plans.first)
        #expect(plan.mode == .mix(host: "alice/camera"))
        #expect(plan.scene.panes.map(\.source) == ["alice/camera", "bob/camera"])
        bench.now += TaskMachine.debounceWindow
        #expect(bench.unpublish("bob").plans.first?.mode == .bypass("alice/camera"))
    }

    @Test func changesWithinTheWindowAreMergedIntoOnePlanAtItsEnd() throws {
        var bench = Bench()
        _ = bench.publish("alice")
        bench.now += 500_000_000
        #expect(bench.publish("bob").plans.count == 1)
        bench.now += 10_000_000
        let heldAt = bench.now
        let first = bench.publish("carol")
        #expect(first.plans.isEmpty)
        let (token, time) = try #require(first.deadlines.first)
        #expect(time == heldAt - 10_000_000 + TaskMachine.debounceWindow)
        bench.now += 10_000_000
        #expect(bench.publish("dave").isEmpty)
        bench.now = time
        let plans = bench.pass(token).plans
        #expect(plans.count == 1)
        #expect(plans.first?.scene.panes.count == 4)
        #expect(plans.first?.causedAt == heldAt)
        #expect(plans.first?.cause == "stream.published carol/camera, stream.published dave/camera")
        #expect(bench.pass(token).isEmpty)
    }

    @Test func flappingWithinTheWindowCausesNoPlan() throws {
        var bench = Bench()
        _ = bench.publish("alice")
        bench.now += 500_000_000
        _ = bench.publish("bob")
        bench.now += 10_000_000
        let (token, time) = try #require(bench.unpublish("bob").deadlines.first)
        bench.now += 10_000_000
        _ = bench.publish("bob")
        bench.now = time
        #expect(bench.pass(token).plans.isEmpty)
    }

    @Test func settingsActAtOnceEvenWithinTheWindow() {
        var bench = Bench()
        _ = bench.publish("alice")
        bench.now += 1_000_000
        bench.room.settings.canvas = RoomCanvas(Canvas(width: 1280, height: 720, fps: 30))
        #expect(bench.settingsChanged().plans.first?.scene.canvas.width == 1280)
        #expect(bench.settingsChanged().plans.isEmpty)
    }

    @Test func neverBypassMixesOnePersonToo() {
        var bench = Bench()
        bench.room.settings.policy.bypass = .never
        #expect(bench.publish("alice").plans.first?.mode == .mix(host: "alice/camera"))
    }

    @Test func soundWithoutPictureIsMixedIn() {
        var bench = Bench()
        _ = bench.publish("alice")
        bench.now += 500_000_000
        let plan = bench.publish("bob", .audio).plans.first
        #expect(plan?.mode == .mix(host: "alice/camera"))
    }

    @Test func whoTurnsTheCameraOffIsMixedUntilItIsOnAgain() {
        var bench = Bench()
        _ = bench.publish("alice")
        bench.now += 500_000_000
        let off = bench.tell(.streamUpdated(StreamUpdate(user: "alice", video: false))).plans.first
        #expect(off?.mode == .mix(host: "alice/camera"))
        #expect(off?.sources.map(\.video) == [false])
        bench.now += 500_000_000
        let on = bench.tell(.streamUpdated(StreamUpdate(user: "alice", video: true))).plans.first
        #expect(on?.mode == .bypass("alice/camera"))
    }

    @Test func theTaskEndsWhenNobodyIsOnAirForTooLong() throws {
        var bench = Bench()
        _ = bench.publish("alice")
        bench.now += 500_000_000
        let left = bench.unpublish("alice")
        #expect(left.plans.first?.mode == .slate)
        let (token, time) = try #require(left.deadlines.first)
        #expect(token.kind == .idle)
        #expect(time == bench.now + 120_000_000_000)
        bench.now = time
        #expect(bench.pass(token).contains(.drainRelay))
        #expect(bench.task.phase == .ending(.idle))
        _ = bench.task.relayDrained()
        #expect(bench.task.phase == .waiting(after: .idle))
        #expect(bench.task.plan == nil)
        let plan = bench.publish("bob").plans.first
        #expect(plan?.mode == .bypass("bob/camera"))
        // Revisions continue across relays.
        #expect(plan?.revision == 3)
    }

    /// The stream waits for the end of the debounce window when the time without streams is over.
    @Test func aStreamThatComesJustBeforeTheEndKeepsTheTask() throws {
        var bench = Bench()
        _ = bench.publish("alice")
        bench.now += 500_000_000
        let (idle, end) = try #require(bench.unpublish("alice").deadlines.first { $0.0.kind == .idle })
        bench.now = end - 200_000_000
        bench.room.settings.outputs = [PushDestination(id: "own", url: "rtmp://127.0.0.1/own")]
        #expect(bench.settingsChanged().plans.count == 1)
        bench.now = end - 100_000_000
        let held = bench.publish("bob")
        #expect(held.plans.isEmpty)
        bench.now = end
        #expect(bench.pass(idle).isEmpty)
        let (replan, time) = try #require(held.deadlines.first)
        bench.now = time
        #expect(bench.pass(replan).plans.first?.mode == .bypass("bob/camera"))
        // The next time without streams has a deadline of its own.
        bench.now += 500_000_000
        let (next, later) = try #require(bench.unpublish("bob").deadlines.first { $0.0.kind == .idle })
        bench.now = later
        #expect(bench.pass(next).contains(.drainRelay))
    }

    @Test func somebodyWhoComesBackInTimeKeepsTheTask() throws {
        var bench = Bench()
        _ = bench.publish("alice")
        bench.now += 500_000_000
        let (token, time) = try #require(bench.unpublish("alice").deadlines.first)
        bench.now += 500_000_000
        #expect(bench.publish("alice").plans.first?.mode == .bypass("alice/camera"))
        bench.now = time
        #expect(bench.pass(token).isEmpty)
        #expect(bench.task.isActive)
    }

    @Test func aStreamDuringTheDrainStartsTheTaskAgainAfterwards() throws {
        var bench = Bench()
        bench.room.settings.policy.maxIdleSeconds = 0
        _ = bench.publish("alice")
        bench.now += 500_000_000
        let (token, _) = try #require(bench.unpublish("alice").deadlines.first)
        _ = bench.pass(token)
        #expect(bench.publish("bob").isEmpty)
        _ = bench.task.relayDrained()
        #expect(bench.settingsChanged().contains(.launchRelay))
    }

    @Test func aTaskStoppedByAPIStaysStoppedUntilTheRoomWasEmpty() {
        var bench = Bench()
        _ = bench.publish("alice")
        #expect(bench.task.stopRequested(cause: Cause(receivedAt: 0, summary: "api")).contains(.drainRelay))
        _ = bench.task.relayDrained()
        bench.now += 500_000_000
        #expect(bench.publish("bob").isEmpty)
        _ = bench.unpublish("bob")
        _ = bench.unpublish("alice")
        #expect(bench.publish("carol").contains(.launchRelay))
    }

    @Test func closingTheRoomEndsTheTask() {
        var bench = Bench()
        _ = bench.publish("alice")
        #expect(bench.tell(.roomClosed).contains(.drainRelay))
        #expect(bench.task.phase == .ending(.roomClosed))
    }
}

extension [TaskAction] {
    var plans: [ProgramPlan] {
        compactMap { if case .apply(let plan) = $0 { plan } else { nil } }
    }
    var deadlines: [(DeadlineToken, Int64)] {
        compactMap { if case .scheduleDeadline(let token, let time) = $0 { (token, time) } else { nil } }
    }
    var entries: [TimelineEntry] {
        compactMap { if case .record(let entry) = $0 { entry } else { nil } }
    }
}
