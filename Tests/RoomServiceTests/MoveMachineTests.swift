import MixModel
import TaskStore
import TestSupport
import Testing

@testable import RoomService

/// The single steps of a planned move.
@Suite struct MoveMachineTests {
    private static let lease = Lease(task: .lease(of: "r"), fence: Fence(owner: "b#2", epoch: 7))

    private func play(_ events: [MoveMachine.Event], deadline: Int64 = 100) -> (MoveMachine, [MoveMachine.Action]) {
        var machine = MoveMachine()
        var actions = [MoveMachine.beginning]
        for event in events { actions = machine.take(event, at: 1, deadline: deadline) }
        return (machine, actions)
    }

    @Test func aMoveThatGoesWell() {
        var machine = MoveMachine()
        #expect(machine.take(.prepared, at: 0, deadline: 9) == [.stop])
        #expect(machine.take(.stopped, at: 0, deadline: 9) == [.pass])
        #expect(machine.outcome == nil)
        #expect(machine.take(.answered(.passed(Self.lease)), at: 0, deadline: 9) == [.tell, .end])
        #expect(machine.outcome == .moved)
        #expect(machine.take(.stopped, at: 0, deadline: 9) == [])
    }

    @Test func whatGoesWrongBeforeTheLeaseIsPassedLeavesTheRoomHere() {
        for (events, actions, outcome) in [
            ([.refused("full")], [.cancel], .refused("full")),
            ([.unsupported], [], .unsupported),
            ([.prepared, .notStopped("hangs")], [.goOn, .cancel], .kept("hangs")),
            (
                [.prepared, .stopped, .answered(.receiverGone)], [.goOn, .cancel],
                .kept("the other node's leases have run out")
            ),
        ] as [([MoveMachine.Event], [MoveMachine.Action], MoveMachine.Outcome)] {
            let (machine, last) = play(events)
            #expect(last == actions && machine.outcome == outcome, "\(events)")
        }
    }

    @Test func aLostAnswerIsMadeSureOf() {
        #expect(play([.prepared, .stopped, .unanswered("away")]).1 == [.reclaim])
        let again: [MoveMachine.Event] = [.prepared, .stopped, .unanswered("away"), .unanswered("still")]
        #expect(play(again).1 == [.reclaim])
        let (taken, back) = play(again + [.answered(.passed(Self.lease))])
        #expect(back == [.goOn, .cancel] && taken.outcome == .kept("away"))
        let (gone, ended) = play(again + [.answered(.notHeld)])
        #expect(ended == [.tell, .end] && gone.outcome == .lost)
        // By now, another node may have taken the room.
        let (late, end) = play(again, deadline: 1)
        #expect(end == [.tell, .end] && late.outcome == .lost)
        let (lost, last) = play([.prepared, .stopped, .answered(.notHeld)])
        #expect(last == [.tell, .end] && lost.outcome == .lost)
    }

    @Test func anArrivalWaitsForEveryRelay() {
        var machine = ArrivalMachine(tasks: ["a", "b"], at: 0)
        #expect(machine.take(.relayReady("a"), at: 1) == [])
        #expect(machine.take(.relayReady("a"), at: 1) == [])
        #expect(machine.take(.relayReady("b"), at: 1) == [.answer(nil)])
        #expect(machine.take(.relayReady("b"), at: 1) == [] && machine.take(.tick, at: 2) == [.look])
        // The room moves nevertheless, and gets another relay.
        #expect(machine.take(.relayFailed("a", "gone"), at: 2) == [])
        #expect(machine.take(.found, at: 3) == [.claim] && machine.take(.told, at: 3) == [])
        #expect(machine.take(.unanswered, at: 3) == [.claim])
        #expect(machine.take(.claimed(true), at: 3) == [.adopt] && machine.isOver)
        #expect(machine.take(.cancelled, at: 4) == [])
    }

    @Test func anArrivalThatComesToNothingEndsItsRelays() {
        let late = ArrivalMachine.preparation
        var slow = ArrivalMachine(tasks: ["a"], at: 0)
        #expect(slow.take(.tick, at: late - 1) == [])
        #expect(slow.take(.tick, at: late) == [.answer("not ready within 15 s: a"), .end] && slow.isOver)
        var failed = ArrivalMachine(tasks: ["a"], at: 0)
        #expect(failed.take(.relayFailed("a", "no binary"), at: 1) == [.answer("no binary"), .end])
        for event in [.cancelled, .tick] as [ArrivalMachine.Event] {
            var forgotten = ArrivalMachine(tasks: [], at: 0)
            #expect(forgotten.take(.tick, at: 0) == [.answer(nil)])
            #expect(forgotten.take(event, at: late + ArrivalMachine.patience) == [.end] && forgotten.isOver)
        }
        var others = ArrivalMachine(tasks: [], at: 0)
        #expect(others.take(.told, at: 0) == [.claim] && others.take(.claimed(false), at: 0) == [.end])
    }

    /// Nodes move a room to each other while services and relays are killed, machines stand still, and messages and
    /// answers get lost or come late. Two relays never send at once, and in the end one relay sends.
    @Test func noMoveHasTwoSenders() async throws {
        var random = SeededGenerator(announcedFor: "moves")
        var moved = 0
        for run in 0..<TestLength.of(short: 40, long: 2000) {
            let simulation = MoveSimulation(seed: random.next())
            try await simulation.play("run \(run), seed \(random.seed)")
            moved += simulation.moved
        }
        #expect(moved > 40, "moves that go well are played, too")
    }
}
