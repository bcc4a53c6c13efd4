import MixModel
import Testing
import EncodedMedia

@testable import ProgramRelay
@testable import RTMP

@Suite struct OutputMachineTests {
    private static let second: Int64 = 1_000_000_000

    @Test func itIsLiveWithTheFirstByteTaken() {
        var machine = OutputMachine()
        #expect(machine.start(at: 0) == [.connect])
        #expect(machine.observe(.init(isWaiting: true), at: 1, jitter: 0) == [])
        #expect(machine.state == .connecting(since: 0))
        #expect(machine.observe(.init(taken: 5, isWaiting: true), at: 2, jitter: 0) == [])
        #expect(machine.state == .live(since: 2, progress: 2))
        #expect(machine.reconnects == 0 && machine.lastFault == nil)
    }

    private static let down = OutputFault(.connectionRefused, "refused")
    private static let lost = OutputFault(.connectionLost, "reset")
    private static let badKey = OutputFault(.publishRefused, "NetStream.Publish.BadName")

    /// Returns the delays in ms between attempts that all fail alike.
    private static func delays(_ fault: OutputFault, count: Int) -> [Int64] {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        var now: Int64 = 0
        var delays: [Int64] = []
        for _ in 0..<count {
            #expect(machine.observe(.init(fault: fault), at: now, jitter: 0) == [.abandon])
            guard case .waiting(let until) = machine.state else {
                Issue.record("not waiting but \(machine.state)")
                return delays
            }
            delays.append((until - now) / 1_000_000)
            #expect(machine.observe(.init(), at: until - 1, jitter: 0) == [])
            now = until
            #expect(machine.observe(.init(), at: now, jitter: 0) == [.connect])
        }
        return delays
    }

    /// A server that returns is found within half a second, however long it was away.
    @Test func theNetworkIsAskedAgainSoon() {
        #expect(Self.delays(Self.down, count: 5) == [100, 200, 400, 500, 500])
        #expect(Self.delays(OutputFault(.timeout, ""), count: 40).allSatisfy { $0 <= 500 })
    }

    @Test func aRefusalIsRepeatedSlowly() {
        #expect(Self.delays(Self.badKey, count: 7) == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
        for code in [OutputErrorCode.applicationRefused, .notAllowed, .tlsFailed, .protocolError] {
            #expect(Self.delays(OutputFault(code, ""), count: 2) == [1_000, 2_000])
        }
    }

    @Test func nameServersAreNotAskedTwiceASecond() {
        #expect(Self.delays(OutputFault(.unresolvable, ""), count: 7) == [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000])
    }

    /// The provider may treat each connection as a separate broadcast.
    @Test func connectionsThatBreakSoonAreMadeMoreAndMoreSlowly() {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        var now: Int64 = 0
        var delays: [Int64] = []
        for _ in 0..<5 {
            _ = machine.observe(.init(hasBegun: true, taken: 1), at: now, jitter: 0)
            now += 3 * Self.second
            _ = machine.observe(.init(hasBegun: true, taken: 2, fault: Self.lost), at: now, jitter: 0)
            guard case .waiting(let until) = machine.state else {
                Issue.record("\(machine.state)")
                return
            }
            delays.append((until - now) / 1_000_000)
            now = until
            _ = machine.observe(.init(), at: now, jitter: 0)
        }
        #expect(delays == [100, 1_000, 2_000, 4_000, 8_000])
        #expect(machine.reconnects == 4)
        #expect(machine.lastFault == Self.lost)
    }

    /// Some servers accept first and check the key afterwards.
    @Test func aConnectionThatBreaksAtOnceIsAskedAboutItsKey() {
        var machine = live()
        _ = machine.observe(.init(hasBegun: true, taken: 9, fault: Self.lost), at: Self.second, jitter: 0)
        #expect(machine.lastFault?.code == .connectionLost)
        #expect(machine.lastFault?.words.contains("stream key") == true)
    }

    /// After the server's consent there may be nothing to send for the length of a group of pictures.
    @Test func aServerThatAgreesAndGetsNothingIsKept() {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        #expect(machine.observe(.init(hasBegun: true), at: 60 * Self.second, jitter: 0) == [])
        #expect(machine.observe(.init(hasBegun: true, taken: 1), at: 61 * Self.second, jitter: 0) == [])
        #expect(machine.state == .live(since: 61 * Self.second, progress: 61 * Self.second))
    }

    /// The program begins long after the server's consent, and its first bytes are under way when they are looked at.
    @Test func theFirstBytesHaveTheirTimeWheneverTheyCome() {
        var machine = OutputMachine(retry: OutputRetry(maxAttempts: 1))
        _ = machine.start(at: 0)
        #expect(machine.observe(.init(hasBegun: true), at: 60 * Self.second, jitter: 0) == [])
        #expect(machine.observe(.init(hasBegun: true, isWaiting: true), at: 61 * Self.second, jitter: 0) == [])
        #expect(machine.observe(.init(hasBegun: true, isWaiting: true), at: 70 * Self.second, jitter: 0) == [])
        #expect(machine.observe(.init(hasBegun: true, isWaiting: true), at: 71 * Self.second, jitter: 0) == [.abandon])
        #expect(machine.state == .failed)
    }

    // MARK: Given up

    @Test func itIsGivenUpAfterSoManyAttempts() {
        var machine = OutputMachine(retry: OutputRetry(maxAttempts: 3))
        _ = machine.start(at: 0)
        var now: Int64 = 0
        for _ in 0..<2 {
            #expect(machine.observe(.init(fault: Self.badKey), at: now, jitter: 0) == [.abandon])
            guard case .waiting(let until) = machine.state else {
                Issue.record("\(machine.state)")
                return
            }
            now = until
            #expect(machine.observe(.init(), at: now, jitter: 0) == [.connect])
        }
        #expect(machine.observe(.init(fault: Self.badKey), at: now, jitter: 0) == [.abandon])
        #expect(machine.state == .failed)
        #expect(machine.lastFault?.code == .publishRefused)
        #expect(machine.lastFault?.words == "given up after 3 attempts: NetStream.Publish.BadName")
        #expect(machine.observe(.init(), at: now + 1000 * Self.second, jitter: 0) == [])
        // A retry is possible.
        #expect(machine.retryNow(at: now) == [.connect])
        #expect(machine.state == .connecting(since: now))
    }

    @Test func itIsGivenUpAfterSoLongAndTriedToTheEnd() {
        var machine = OutputMachine(retry: OutputRetry(maxSeconds: 10))
        _ = machine.start(at: 0)
        _ = machine.observe(.init(hasBegun: true, taken: 1), at: 0, jitter: 0)
        // Time on air does not count.
        _ = machine.observe(.init(hasBegun: true, taken: 2), at: 100 * Self.second, jitter: 0)
        var now = 100 * Self.second
        var attempts: [Int64] = []
        _ = machine.observe(.init(hasBegun: true, taken: 2, fault: Self.lost), at: now, jitter: 0)
        while case .waiting(let until) = machine.state {
            now = until
            attempts.append((now - 100 * Self.second) / Self.second)
            _ = machine.observe(.init(), at: now, jitter: 0)
            _ = machine.observe(.init(fault: Self.badKey), at: now, jitter: 0)
        }
        #expect(machine.state == .failed)
        #expect(attempts == [0, 1, 3, 7, 10])
        #expect(machine.lastFault?.words.hasPrefix("given up after 10 s: ") == true)
    }

    @Test func aPolicyMayComeLater() {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        _ = machine.observe(.init(fault: Self.down), at: 0, jitter: 0)
        _ = machine.observe(.init(), at: Self.second, jitter: 0)
        machine.retry = OutputRetry(maxAttempts: 1)
        _ = machine.observe(.init(fault: Self.down), at: Self.second, jitter: 0)
        #expect(machine.state == .failed && machine.lastFault?.words == "given up after one attempt: refused")
    }

    @Test func whoeverWaitsCanBeAskedToTryNow() {
        var machine = OutputMachine()
        #expect(machine.retryNow(at: 0) == [])
        _ = machine.start(at: 0)
        for at in 0..<6 {
            _ = machine.observe(.init(fault: Self.badKey), at: Int64(at) * 100 * Self.second, jitter: 0)
            _ = machine.observe(.init(), at: Int64(at) * 100 * Self.second + 50 * Self.second, jitter: 0)
        }
        _ = machine.observe(.init(fault: Self.badKey), at: 600 * Self.second, jitter: 0)
        #expect(machine.retryNow(at: 601 * Self.second) == [.connect])
        #expect(machine.retryNow(at: 601 * Self.second) == [])
        // The delays begin again.
        _ = machine.observe(.init(fault: Self.badKey), at: 602 * Self.second, jitter: 0)
        #expect(machine.state == .waiting(until: 603 * Self.second))
    }

    @Test func whatCanNeverWorkIsNotTriedAgain() {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        _ = machine.observe(.init(fault: OutputFault(.badURL, "no URL")), at: 0, jitter: 0)
        #expect(machine.state == .failed && machine.lastFault?.words == "no URL")
        #expect(machine.retryNow(at: 1) == [])
    }

    @Test(arguments: [0, 0.5, 1, 7, -3]) func jitterShortensByAQuarterAtMost(jitter: Double) {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        _ = machine.observe(.init(fault: Self.badKey), at: 0, jitter: jitter)
        guard case .waiting(let until) = machine.state else {
            Issue.record("\(machine.state)")
            return
        }
        #expect((750_000_000...1_000_000_000).contains(until))
    }

    @Test func aServerThatDoesNotAnswerIsGivenUp() {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        #expect(machine.observe(.init(isWaiting: true), at: 10 * Self.second, jitter: 0) == [])
        #expect(machine.observe(.init(isWaiting: true), at: 10 * Self.second + 1, jitter: 0) == [.abandon])
    }

    @Test func aWedgedConnectionIsGivenUpAndAnIdleOneIsNot() {
        var machine = live()
        func wedged(_ taken: Int64, _ isWaiting: Bool, _ at: Int64) -> [OutputMachine.Action] {
            machine.observe(.init(hasBegun: true, taken: taken, isWaiting: isWaiting), at: at, jitter: 0)
        }
        #expect(wedged(9, false, 100 * Self.second) == [])
        #expect(wedged(9, true, 103 * Self.second) == [])
        #expect(wedged(10, true, 105 * Self.second) == [])
        let limit = 105 * Self.second + OutputMachine.Policy().stallLimit
        #expect(wedged(10, true, limit) == [])
        #expect(wedged(10, true, limit + 1) == [.abandon])
        #expect(machine.lastFault == OutputFault(.wedged, "the server accepts no more data"))
    }

    @Test func aServerWhoseMachineTakesEverythingAndThatReadsNothingIsGivenUp() {
        var machine = live()
        let since = 50 * Self.second
        func deaf(_ at: Int64, _ silentSince: Int64?) -> [OutputMachine.Action] {
            machine.observe(
                .init(hasBegun: true, taken: at, isWaiting: true, silentSince: silentSince), at: at, jitter: 0)
        }
        let limit = OutputMachine.Policy().stallLimit
        #expect(deaf(since + limit, since) == [])
        #expect(deaf(since + 3 * limit, nil) == [])
        #expect(deaf(since + 3 * limit, since + 2 * limit) == [])
        #expect(deaf(since + 3 * limit + 1, since + 2 * limit) == [.abandon])
        #expect(machine.lastFault?.code == .wedged)
    }

    @Test func reconnectsCountOnlyWhatWasLive() {
        var machine = live()
        _ = machine.observe(.init(taken: 9, fault: Self.lost), at: Self.second, jitter: 0)
        _ = machine.observe(.init(), at: 2 * Self.second, jitter: 0)
        _ = machine.observe(.init(fault: Self.down), at: 2 * Self.second, jitter: 0)
        #expect(machine.reconnects == 0)
        _ = machine.observe(.init(), at: 9 * Self.second, jitter: 0)
        _ = machine.observe(.init(taken: 1), at: 10 * Self.second, jitter: 0)
        #expect(machine.reconnects == 1)
    }

    @Test func aLongHealthyConnectionForgetsOldFailures() {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        for at in [0, 20, 40, 60] {
            _ = machine.observe(.init(hasBegun: true, taken: 1), at: Int64(at) * Self.second, jitter: 0)
            _ = machine.observe(
                .init(hasBegun: true, taken: 2, fault: Self.lost), at: Int64(at) * Self.second, jitter: 0)
            _ = machine.observe(.init(), at: Int64(at + 19) * Self.second, jitter: 0)
        }
        _ = machine.observe(.init(hasBegun: true, taken: 1), at: 100 * Self.second, jitter: 0)
        _ = machine.observe(.init(hasBegun: true, taken: 2), at: 111 * Self.second, jitter: 0)
        _ = machine.observe(.init(hasBegun: true, taken: 2, fault: Self.lost), at: 112 * Self.second, jitter: 0)
        #expect(machine.state == .waiting(until: 112 * Self.second + 100_000_000))
    }

    @Test func stoppedAndFailedStayWhatTheyAre() {
        var machine = live()
        #expect(machine.stop() == [.abandon])
        #expect(machine.stop() == [])
        #expect(machine.start(at: 0) == [])
        #expect(machine.observe(.init(taken: 99), at: 999 * Self.second, jitter: 0) == [])
        var other = OutputMachine()
        _ = other.start(at: 0)
        other.fail(OutputFault(.protocolError, "no such element"))
        #expect(other.observe(.init(taken: 99), at: 999 * Self.second, jitter: 0) == [])
        #expect(other.state == .failed && other.lastFault?.words == "no such element")
    }

    private func live() -> OutputMachine {
        var machine = OutputMachine()
        _ = machine.start(at: 0)
        _ = machine.observe(.init(taken: 9), at: 0, jitter: 0)
        return machine
    }
}
