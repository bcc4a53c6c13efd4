import LayoutEngine
import MixModel
import Testing

/// Relays that are lost, adopted or ahead.
extension TaskMachineTests {
    @Test func aLostRelayIsStartedAgainWithThePlanInForce() throws {
        var bench = Bench()
        let plan = try #require(bench.publish("alice").plans.first)
        _ = bench.connect()
        #expect(bench.task.phase == .running)
        let lost = bench.task.relayLost("killed", now: bench.now)
        #expect(bench.task.phase == .recovering)
        let (token, time) = try #require(lost.deadlines.first)
        #expect(time == bench.now + 50_000_000)
        bench.now = time
        let actions = bench.pass(token)
        #expect(actions.first == .launchRelay)
        #expect(actions.plans.first?.revision == plan.revision)
        #expect(actions.plans.first?.mode == plan.mode)
        _ = bench.connect()
        #expect(bench.task.phase == .running)
        #expect(bench.task.lastError == nil)
    }

    @Test func theBackOffGrowsAndForgetsAfterAStableTime() throws {
        var bench = Bench()
        _ = bench.publish("alice")
        var delays: [Int64] = []
        for _ in 0..<9 {
            let (_, time) = try #require(bench.task.relayLost("cannot start", now: bench.now).deadlines.first)
            delays.append((time - bench.now) / 1_000_000)
            bench.now = time
        }
        #expect(delays == [50, 500, 1000, 2000, 4000, 5000, 5000, 5000, 5000])
        _ = bench.connect()
        bench.now += 11_000_000_000
        let (_, time) = try #require(bench.task.relayLost("killed", now: bench.now).deadlines.first)
        #expect(time - bench.now == 50_000_000)
    }

    @Test func aRelayWithANewerPlanIsGivenAnEvenNewerOne() {
        var bench = Bench()
        _ = bench.publish("alice")
        #expect(bench.connect(revision: 41).plans.map(\.revision) == [42])
        #expect(bench.task.revision == 42)
    }

    @Test func afterARestartTheRelayIsTakenOverAndWhatChangedIsApplied() throws {
        var bench = Bench()
        let plan = try #require(bench.publish("alice").plans.first)
        _ = bench.connect()
        let same = bench.task.restored(room: bench.room, context: bench.context, now: 5)
        #expect(same.first == .launchRelay)
        #expect(same.plans == [plan])
        bench.context.defaultOutputs.append(PushDestination(id: "second", url: "rtmp://127.0.0.1/2"))
        let other = bench.task.restored(room: bench.room, context: bench.context, now: 6)
        #expect(other.plans.last?.outputs.count == 2)
        #expect(other.plans.last?.revision == 2)
    }

    @Test func afterARestartAnEmptyRoomsTaskStillEnds() throws {
        var bench = Bench()
        _ = bench.publish("alice")
        bench.now += 500_000_000
        _ = bench.unpublish("alice")
        let actions = bench.task.restored(room: bench.room, context: bench.context, now: 7)
        let (token, time) = try #require(actions.deadlines.first { $0.0.kind == .idle })
        #expect(time == 7 + 120_000_000_000)
        #expect(bench.pass(token).contains(.drainRelay))
    }

    @Test func deadlinesOfThePastAreIgnored() {
        var bench = Bench()
        _ = bench.publish("alice")
        for kind in [DeadlineToken.Kind.idle, .replan, .relaunch] {
            #expect(bench.pass(DeadlineToken(kind: kind, number: 99)).isEmpty)
        }
    }
}
