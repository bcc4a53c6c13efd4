import RTMP
import Testing

@testable import ProgramRelay

/// Decisions about a server's requests to reconnect.
@Suite struct ReconnectMachineTests {
    private static let request = ReconnectRequest(target: .reference("/b"))
    private static let policy = ReconnectMachine.Policy(pause: 100, preparation: 20, hold: 5)

    private static func machine() -> ReconnectMachine { ReconnectMachine(policy: policy) }

    /// Returns a machine that holds the stream since `now`.
    private static func holding(at now: Int64) -> ReconnectMachine {
        var machine = machine()
        _ = machine.requested(request, at: now)
        machine.prepared()
        _ = machine.reachedBoundary(at: now)
        return machine
    }

    @Test func aMoveHappensAtTheNextBoundary() {
        var machine = Self.machine()
        #expect(machine.reachedBoundary(at: 0) == [])
        #expect(machine.requested(Self.request, at: 0) == [.prepare(Self.request)])
        #expect(machine.reachedBoundary(at: 1) == [], "there is no other connection yet")
        #expect(!machine.awaitsBoundary && !machine.isHolding)
        machine.prepared()
        #expect(machine.tick(at: 2) == [])
        #expect(machine.awaitsBoundary)
        #expect(machine.reachedBoundary(at: 3) == [.publish])
        #expect(machine.reachedBoundary(at: 4) == [])
        #expect(machine.isHolding)
        #expect(machine.began() == true)
        #expect(machine.state == .settled)
        #expect(machine.began() == false)
    }

    @Test func aConnectionThatIsNotMadeIsGivenUp() {
        var machine = Self.machine()
        _ = machine.requested(Self.request, at: 0)
        #expect(machine.failed("refused") == [.stay(reason: "refused")])
        #expect(machine.state == .settled)
        #expect(machine.failed("again") == [])
        machine.prepared()
        #expect(machine.state == .settled, "what comes late changes nothing")
        #expect(machine.began() == false)
    }

    @Test func everyStepHasALimit() throws {
        for isPrepared in [false, true] {
            var machine = Self.machine()
            _ = machine.requested(Self.request, at: 0)
            if isPrepared { machine.prepared() }
            #expect(machine.tick(at: 20) == [])
            guard case .stay(let reason)? = machine.tick(at: 21).first else {
                Issue.record("a move without end")
                return
            }
            #expect(reason.contains(isPrepared ? "keyframe" : "connection"))
        }
        var machine = Self.holding(at: 7)
        #expect(machine.tick(at: 12) == [])
        guard case .stay(let reason)? = machine.tick(at: 13).first else {
            Issue.record("held without end")
            return
        }
        #expect(reason.contains("did not accept"))
        #expect(machine.state == .settled)
    }

    /// Two servers that send the output to each other get it once in every pause.
    @Test func requestsThatComeTooSoonWait() {
        var machine = Self.holding(at: 0)
        #expect(machine.requested(Self.request, at: 1) == [], "during a move")
        #expect(machine.began() == true)
        #expect(machine.tick(at: 1_000) == [], "that one is over with the move")
        machine = Self.holding(at: 0)
        _ = machine.began()
        var moves = 0
        for now in Int64(1)...1_000 {
            var actions = machine.requested(ReconnectRequest(target: .reference("/\(now)")), at: now)
            actions += machine.tick(at: now)
            guard case .prepare(let request)? = actions.first else { continue }
            moves += 1
            #expect(actions.count == 1 && request.target == .reference("/\(now)"), "the newest one")
            machine.prepared()
            _ = machine.reachedBoundary(at: now)
            _ = machine.began()
        }
        #expect(moves == 10)
    }

    @Test func aRequestThatWaitsIsFollowedAfterThePause() {
        var machine = Self.holding(at: 0)
        _ = machine.began()
        #expect(machine.requested(Self.request, at: 50) == [])
        #expect(machine.tick(at: 99) == [])
        #expect(machine.tick(at: 100) == [.prepare(Self.request)])
        #expect(machine.tick(at: 101) == [])
    }

    /// A failed attempt counts like a move, so that requests for bad addresses cost little.
    @Test func aFailedAttemptIsFollowedByAPause() {
        var machine = Self.machine()
        _ = machine.requested(Self.request, at: 0)
        _ = machine.failed("refused")
        #expect(machine.requested(Self.request, at: 1) == [])
        #expect(machine.tick(at: 100) == [.prepare(Self.request)])
    }

    @Test func aPresentConnectionThatEndsEndsTheMoveUnlessTheStreamIsHeld() {
        var machine = Self.machine()
        #expect(machine.presentEnded() == false)
        _ = machine.requested(Self.request, at: 0)
        machine.prepared()
        #expect(machine.presentEnded() == false)
        #expect(machine.state == .settled)
        machine = Self.holding(at: 0)
        #expect(machine.presentEnded() == true)
        #expect(machine.isHolding)
        #expect(machine.began() == true)
    }

    /// The service's own server closes a connection that has published nothing for 15 s.
    @Test func theLimitsFitOurServer() {
        let policy = ReconnectMachine.Policy()
        #expect(policy.preparation < RTMPServerLimits().request)
        #expect(policy.hold < OutputMachine.Policy().stallLimit)
        #expect(policy.hold < Int64(RTMPSocketConnection.timeouts.start) * 1_000_000_000)
        #expect(policy.pause > policy.preparation + policy.hold)
    }
}
