import EventSubscription
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import TaskStore

/// One endpoint's queue with a manual clock: the outbox and the circuit breaker, as the engine uses them.
@Suite struct DeliveryPropertyTests {
    private struct Flight {
        var item: OutboxItem
        var endsAt: Double
        var succeeds: Bool
        /// Whether its sender dies, so that it is never settled.
        var dies: Bool
    }

    /// For any failures, any order of completion, and any senders that die, no message is lost. The messages of each
    /// room arrive in order, one at a time, and an abandoned message blocks nothing.
    @Test func nothingIsLostAndRoomsStayInOrder() {
        var random = SeededGenerator(announcedFor: "nothingIsLostAndRoomsStayInOrder")
        for _ in 0..<200 { run(&random) }
    }

    private func run(_ random: inout SeededGenerator) {
        var policy = DeliveryPolicy(
            shortestDelay: .seconds(1), longestDelay: .seconds(8), giveUpAfter: .seconds(40),
            shortestBreak: .seconds(1), longestBreak: .seconds(4))
        policy.concurrency = Int.random(in: 1...4, using: &random)
        var outbox = MemoryOutbox(limit: 1000)
        var machine = EndpointMachine(policy: policy)
        var flights: [Flight] = []
        var now = 0.0
        let rooms = Int.random(in: 1...4, using: &random)
        let count = 30
        var added = 0
        let badUntil = Double.random(in: 0...80, using: &random)
        let badness = Double.random(in: 0...1, using: &random)
        /// The delivered messages of each room, in the order in which their attempts ended.
        var arrived: [String: [Int]] = [:]
        var dead: Set<Int> = []

        var steps = 0
        while added < count || outbox.entries.contains(where: { $0.delivery.state == .waiting }) {
            steps += 1
            guard steps < 20_000 else {
                Issue.record("does not come to an end")
                return
            }
            if added < count, Bool.random(using: &random) {
                let lane = "r\(Int.random(in: 0..<rooms, using: &random))"
                outbox.append(
                    OutboxMessage(id: "\(added)", subscription: "s", lane: lane, topic: .test, body: []), at: now)
                added += 1
            }
            let allowance = machine.allowance(now: Int64(now * 1e9))
            let take = outbox.take(of: "s", allowance, at: now, until: now + 15)
            #expect(take.items.count <= allowance)
            machine.began(take.items.count)
            for item in take.items {
                #expect(
                    !flights.contains { $0.item.message.lane == item.message.lane && !$0.dies },
                    "two of a room are under way")
                flights.append(
                    Flight(
                        item: item, endsAt: now + .random(in: 0.01...5, using: &random),
                        succeeds: now > badUntil || .random(in: 0..<1, using: &random) > badness,
                        dies: now < 60 && .random(in: 0..<50, using: &random) == 0))
            }
            now += .random(in: 0...1.5, using: &random)
            for flight in flights where flight.endsAt <= now {
                let age = Duration.seconds(now - flight.item.queuedAt)
                if flight.dies {
                    // The receiver may have got the message; the sender is replaced.
                    machine.abandoned()
                    continue
                }
                let delay = policy.delay(
                    after: flight.item.attempt, age: age, random: .random(in: 0..<1, using: &random))
                let outcome: DeliveryOutcome =
                    flight.succeeds ? .delivered : delay.map { .retry(after: $0) } ?? .givenUp
                let isSettled = outbox.settle(flight.item, outcome, nil, at: now)
                #expect(isSettled)
                if flight.succeeds {
                    machine.succeeded()
                    arrived[flight.item.message.lane, default: []].append(Int(flight.item.message.id) ?? -1)
                } else {
                    machine.failed(now: Int64(now * 1e9), random: 0.5)
                    if outcome == .givenUp { dead.insert(Int(flight.item.message.id) ?? -1) }
                }
            }
            flights.removeAll { $0.endsAt <= now }
        }
        for (room, numbers) in arrived { #expect(numbers == numbers.sorted(), "\(room)") }
        let all = arrived.values.flatMap { $0 }
        #expect(Set(all).union(dead) == Set(0..<count))
        #expect(all.count == Set(all).count)
        #expect(dead.isDisjoint(with: all))
        #expect(machine.underWay == 0)
    }
}
