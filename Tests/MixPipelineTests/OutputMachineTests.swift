import Testing

@testable import MixPipeline

@Suite struct OutputMachineTests {
    private static let second: Int64 = 1_000_000_000

    @Test func itIsLiveWithTheFirstByteTaken() {
        var machine = OutputMachine()
        #expect(machine.start(at: 0) == [.connect])
        #expect(machine.observe(.init(isWaiting: true), at: 1, jitter: 0) == [])
        #expect(machine.state == .connecting(since: 0))
        #expect(machine.observe(.init(taken: 5, isWaiting: true), at: 2, jitter: 0) == [])
        #expect(machine.state == .live(since: 2, progress: 2))
        #expect(machine.reconnects == 0 && machine.lastError == nil)
    }

    @Test func aRefusedConnectionIsTriedAgainLaterEachTime() {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        var now: Int64 = 0
        var delays: [Int64] = []
        for _ in 0..<7 {
            #expect(machine.observe(.init(failure: "refused"), at: now, jitter: 0) == [.abandon])
            guard case .waiting(let until) = machine.state else {
                Issue.record("not waiting but \(machine.state)")
                return
            }
            delays.append((until - now) / 1_000_000)
            #expect(machine.observe(.init(), at: until - 1, jitter: 0) == [])
            now = until
            #expect(machine.observe(.init(), at: now, jitter: 0) == [.connect])
        }
        #expect(delays == [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000])
        #expect(machine.lastError == "refused")
    }

    @Test(arguments: [0, 0.5, 1, 7, -3]) func jitterShortensByAQuarterAtMost(jitter: Double) {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        _ = machine.observe(.init(failure: "refused"), at: 0, jitter: jitter)
        guard case .waiting(let until) = machine.state else {
            Issue.record("\(machine.state)")
            return
        }
        #expect((375_000_000...500_000_000).contains(until))
    }

    @Test func aServerThatDoesNotAnswerIsGivenUp() {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        #expect(machine.observe(.init(isWaiting: true), at: 10 * Self.second, jitter: 0) == [])
        #expect(machine.observe(.init(isWaiting: true), at: 10 * Self.second + 1, jitter: 0) == [.abandon])
    }

    @Test func aWedgedConnectionIsGivenUpAndAnIdleOneIsNot() {
        var machine = live()
        #expect(machine.observe(.init(taken: 9, isWaiting: false), at: 100 * Self.second, jitter: 0) == [])
        #expect(machine.observe(.init(taken: 9, isWaiting: true), at: 110 * Self.second, jitter: 0) == [])
        #expect(machine.observe(.init(taken: 10, isWaiting: true), at: 115 * Self.second, jitter: 0) == [])
        #expect(machine.observe(.init(taken: 10, isWaiting: true), at: 125 * Self.second, jitter: 0) == [])
        #expect(machine.observe(.init(taken: 10, isWaiting: true), at: 125 * Self.second + 1, jitter: 0) == [.abandon])
        #expect(machine.lastError == "the server takes no more bytes")
    }

    @Test func reconnectsCountOnlyWhatWasLive() {
        var machine = live()
        _ = machine.observe(.init(taken: 9, failure: "reset"), at: Self.second, jitter: 0)
        _ = machine.observe(.init(), at: 2 * Self.second, jitter: 0)
        _ = machine.observe(.init(failure: "refused"), at: 2 * Self.second, jitter: 0)
        #expect(machine.reconnects == 0)
        _ = machine.observe(.init(), at: 9 * Self.second, jitter: 0)
        _ = machine.observe(.init(taken: 1), at: 10 * Self.second, jitter: 0)
        #expect(machine.reconnects == 1)
    }

    @Test func aLongHealthyConnectionForgetsOldFailures() {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        for _ in 0..<4 {
            _ = machine.observe(.init(failure: "refused"), at: 0, jitter: 0)
            _ = machine.observe(.init(), at: 100 * Self.second, jitter: 0)
        }
        _ = machine.observe(.init(taken: 1), at: 100 * Self.second, jitter: 0)
        _ = machine.observe(.init(taken: 2), at: 131 * Self.second, jitter: 0)
        _ = machine.observe(.init(taken: 2, failure: "reset"), at: 132 * Self.second, jitter: 0)
        #expect(machine.state == .waiting(until: 132 * Self.second + 500_000_000))
    }

    @Test func stoppedAndFailedStayWhatTheyAre() {
        var machine = live()
        #expect(machine.stop() == [.abandon])
        #expect(machine.stop() == [])
        #expect(machine.start(at: 0) == [])
        #expect(machine.observe(.init(taken: 99), at: 999 * Self.second, jitter: 0) == [])
        var other = OutputMachine()
        _ = other.start(at: 0)
        other.fail("no such element")
        #expect(other.observe(.init(taken: 99), at: 999 * Self.second, jitter: 0) == [])
        #expect(other.state == .failed && other.lastError == "no such element")
    }

    private func live() -> OutputMachine {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        _ = machine.observe(.init(taken: 9), at: 0, jitter: 0)
        return machine
    }
}
