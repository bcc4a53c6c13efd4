import EventSubscription
import Testing

@Suite struct EndpointMachineTests {
    private static let second: Int64 = 1_000_000_000

    private var policy: DeliveryPolicy {
        var policy = DeliveryPolicy.own
        policy.jitter = 0
        return policy
    }

    @Test func aMessageIsRepeatedAtOnceAndThenEverMoreSeldom() {
        func delays(_ policy: DeliveryPolicy) -> [Duration?] {
            (1...9).map { policy.delay(after: $0, age: .seconds(1), random: 0.5) }
        }
        #expect(delays(policy) == [0, 5, 10, 20, 40, 80, 160, 300, 300].map { .seconds($0) })
        #expect(delays(.compatible) == [0, 10, 10, 10, 10, 10, 10, 10, 10].map { .seconds($0) })
        #expect(policy.delay(after: 3, age: .seconds(86_400), random: 0) == nil)
        #expect(DeliveryPolicy.compatible.delay(after: 8, age: .seconds(60), random: 0) == nil)
        #expect(DeliveryPolicy.own.delay(after: 2, age: .zero, random: 0) == .seconds(4))
        // An endpoint that asks for a pause gets one, within limits.
        #expect(policy.delay(after: 1, age: .zero, asked: .seconds(30), random: 0) == .seconds(30))
        #expect(policy.delay(after: 1, age: .zero, asked: .seconds(9000), random: 0) == .seconds(300))
    }

    @Test func anEndpointThatFailsIsLeftAloneAndThenTried() {
        var machine = EndpointMachine(policy: policy)
        #expect(machine.allowance(now: 0) == 8)
        machine.began(5)
        #expect(machine.allowance(now: 0) == 3)
        for _ in 0..<4 { machine.failed(now: 0, random: 0.5) }
        #expect(machine.circuit == .closed)
        machine.failed(now: 0, random: 0.5)
        #expect(machine.circuit == .open(until: 5 * Self.second))
        #expect(machine.allowance(now: 4 * Self.second) == 0)
        #expect(machine.reopensAt == 5 * Self.second)
        #expect(machine.allowance(now: 5 * Self.second) == 1)
        machine.began()
        #expect(machine.allowance(now: 6 * Self.second) == 0)
        machine.failed(now: 6 * Self.second, random: 0.5)
        #expect(machine.circuit == .open(until: 16 * Self.second))
        #expect(machine.allowance(now: 16 * Self.second) == 1)
        machine.began()
        machine.succeeded()
        #expect(machine.circuit == .closed)
        #expect(machine.allowance(now: 16 * Self.second) == 8)
        #expect(machine.reopensAt == nil)
    }

    @Test func aSuccessBetweenFailuresKeepsItClosed() {
        var machine = EndpointMachine(policy: policy)
        for _ in 0..<10 {
            machine.began(5)
            for _ in 0..<4 { machine.failed(now: 0, random: 0) }
            machine.succeeded()
        }
        #expect(machine.circuit == .closed)
        machine.began()
        machine.abandoned()
        #expect(machine.underWay == 0)
    }

    @Test func theBreakGrowsUpToItsLimit() {
        var machine = EndpointMachine(policy: policy)
        var now: Int64 = 0
        var breaks: [Int64] = []
        machine.began(4)
        for _ in 0..<4 { machine.failed(now: now, random: 0.5) }
        for _ in 0..<6 {
            #expect(machine.allowance(now: now) > 0)
            machine.began()
            machine.failed(now: now, random: 0.5)
            let until = machine.reopensAt ?? now
            breaks.append((until - now) / Self.second)
            now = until
        }
        #expect(breaks == [5, 10, 20, 40, 60, 60])
    }
}
