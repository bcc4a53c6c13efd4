import LayoutEngine
import MixModel
import TestSupport
import Testing

/// With random rooms, relays that come and go, and deadlines that pass, the relay ends up with the plan of a simple
/// model.
@Suite struct TaskMachinePropertyTests {
    /// The state of a relay process, as it follows from the actions alone.
    private struct World {
        var isLaunched = false
        var plan: ProgramPlan?
        var deadlines: [(token: DeadlineToken, at: Int64)] = []
        var isDraining = false

        mutating func perform(_ actions: [TaskAction]) {
            for action in actions {
                switch action {
                case .launchRelay:
                    #expect(!isDraining, "a relay is launched while the last one drains")
                    isLaunched = true
                case .apply(let plan):
                    // Without a relay, a plan is lost: the next launch must apply the current one.
                    guard isLaunched else { continue }
                    if plan.revision > self.plan?.revision ?? 0 { self.plan = plan }
                case .drainRelay: isDraining = true
                case .scheduleDeadline(let token, let at): deadlines.append((token, at))
                case .record, .retryOutput, .resume, .standBy: break
                }
            }
        }
    }

    @Test func theRelayConvergesToWhatTheRoomIs() {
        var random = SeededGenerator(announcedFor: "task machine")
        let seed = random.seed
        for run in 0..<400 { Self.run(&random, "seed \(seed), run \(run)") }
    }

    private static func run(_ random: inout SeededGenerator, _ name: String) {
        var bench = TaskMachineTests.Bench()
        var world = World()
        var lastRevision = 0
        func settle(_ actions: [TaskAction]) {
            for plan in actions.plans {
                #expect(plan.revision >= lastRevision, "\(name): revisions never go back")
                lastRevision = plan.revision
            }
            world.perform(actions)
        }
        for _ in 0..<Int.random(in: 1...60, using: &random) {
            bench.now += Int64.random(in: 0...400_000_000, using: &random)
            for due in world.deadlines where due.at <= bench.now {
                world.deadlines.removeAll { $0.token == due.token }
                settle(bench.pass(due.token))
            }
            let user = UserID("u\(Int.random(in: 0..<4, using: &random))")
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5: settle(bench.publish(user, video: Int.random(in: 0..<5, using: &random) > 0))
            case 5..<8: settle(bench.unpublish(user))
            case 8 where world.isLaunched && !world.isDraining:
                world.isLaunched = false
                world.plan = nil
                settle(bench.task.relayLost("killed", now: bench.now))
            case 9 where world.isLaunched && !world.isDraining:
                settle(bench.connect(revision: world.plan?.revision ?? 0))
            default: break
            }
            finishDrain(&bench, &world, settle)
        }
        // All remaining deadlines pass, except the end by idleness.
        for _ in 0..<20 {
            guard let due = world.deadlines.filter({ $0.token.kind != .idle }).min(by: { $0.at < $1.at }) else { break }
            world.deadlines.removeAll { $0.token == due.token }
            bench.now = max(bench.now, due.at)
            settle(bench.pass(due.token))
            finishDrain(&bench, &world, settle)
        }
        check(bench, world, name)
    }

    private static func finishDrain(
        _ bench: inout TaskMachineTests.Bench, _ world: inout World, _ settle: ([TaskAction]) -> Void
    ) {
        guard world.isDraining else { return }
        world = World(deadlines: world.deadlines)
        settle(bench.task.relayDrained() + bench.settingsChanged())
    }

    private static func check(_ bench: TaskMachineTests.Bench, _ world: World, _ name: String) {
        let streams = bench.room.streams
        let withVideo = streams.filter(\.stream.video)
        guard bench.task.isActive else {
            #expect(streams.isEmpty, "\(name): people are on air without a task")
            return
        }
        guard let plan = world.plan else {
            Issue.record("\(name): a running task without a plan")
            return
        }
        #expect(Set(plan.sources.map(\.id)) == Set(streams.map(\.id)), "\(name)")
        switch plan.mode {
        case .slate: #expect(streams.isEmpty, "\(name)")
        case .bypass(let source): #expect(streams.count == 1 && withVideo.first?.id == source, "\(name)")
        case .mix(let host):
            #expect(streams.count >= 2 || withVideo.isEmpty, "\(name)")
            #expect((withVideo.isEmpty ? streams : withVideo).contains { $0.id == host }, "\(name)")
        }
        #expect(plan.scene.panes.count == streams.count, "\(name)")
        #expect(plan.scene.panes.count(where: \.isLive) == withVideo.count, "\(name)")
    }
}
