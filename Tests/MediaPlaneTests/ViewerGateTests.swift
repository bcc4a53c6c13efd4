import EncodedMedia
import Testing

@testable import WebRTCGateway

@Suite struct ViewerGateTests {
    private static let millisecond: Int64 = 1_000_000

    @Test func whoJoinsBeginsWithAnIDRThatComesSoon() {
        var gate = ViewerGate()
        #expect(!gate.admits(isIDR: true, isBehind: false) && !gate.takesGroup(now: .max), "not before it is connected")
        gate.begin(now: 0)
        #expect(gate.admits(isIDR: false, isBehind: false) == false)
        #expect(gate.takesGroup(now: 199 * Self.millisecond) == false)
        #expect(gate.admits(isIDR: true, isBehind: false) == true)
        #expect(gate.admits(isIDR: false, isBehind: false) == true)
        #expect(gate.takesGroup(now: 10_000 * Self.millisecond) == false, "it has the IDR")
    }

    @Test func otherwiseItBeginsWithTheGroup() {
        var gate = ViewerGate()
        gate.begin(now: 0)
        #expect(gate.takesGroup(now: 200 * Self.millisecond) == true)
        #expect(gate.admits(isIDR: false, isBehind: false) == true)
        #expect(gate.takesGroup(now: 250 * Self.millisecond) == false, "once")
    }

    @Test func aRequestIsAnsweredWithTheGroupOnceASecondAtMost() {
        var gate = ViewerGate()
        gate.begin(now: 0)
        #expect(gate.takesGroup(now: 200 * Self.millisecond) == true)
        gate.keyframeRequested(now: 300 * Self.millisecond)
        #expect(gate.takesGroup(now: 1150 * Self.millisecond) == false)
        #expect(gate.takesGroup(now: 1200 * Self.millisecond) == true)
        gate.keyframeRequested(now: 5000 * Self.millisecond)
        #expect(gate.takesGroup(now: 5150 * Self.millisecond) == false)
        #expect(gate.admits(isIDR: true, isBehind: false) == true)
        #expect(gate.takesGroup(now: 9000 * Self.millisecond) == false, "an IDR has come meanwhile")
    }

    @Test func whoIsBehindWaitsForAnIDR() {
        var gate = ViewerGate()
        gate.begin(now: 0)
        #expect(gate.admits(isIDR: true, isBehind: false) == true)
        #expect(!gate.admits(isIDR: false, isBehind: true) && gate.isBehind)
        #expect(gate.admits(isIDR: false, isBehind: false) == false)
        #expect(gate.admits(isIDR: true, isBehind: true) == false)
        #expect(gate.takesGroup(now: .max) == false, "more would make it slower still")
        #expect(gate.admits(isIDR: true, isBehind: false) && !gate.isBehind)
    }

    @Test func aStreamThatBeginsAnewIsJoinedAnew() {
        var gate = ViewerGate()
        gate.restart(now: 0)
        #expect(gate.takesGroup(now: .max) == false, "one that has not begun does not begin")
        gate.begin(now: 0)
        #expect(gate.admits(isIDR: true, isBehind: false) == true)
        gate.restart(now: 1000 * Self.millisecond)
        #expect(gate.admits(isIDR: false, isBehind: false) == false)
        #expect(gate.takesGroup(now: 1200 * Self.millisecond) == true)
    }
}
