import EncodedMedia
import Testing

@testable import ProgramRelay

/// Requests for keyframes after packets were lost, in simulated time.
@Suite struct SRTLossTests {
    @Test func aKeyframeIsRequestedOnceTheReceiverTakesPacketsAgain() {
        var loss = SRTLoss()
        var requests: [Int] = []
        var dropped: UInt64 = 0
        for time in stride(from: 0, to: 10_000, by: 50) {
            // Two receivers' pauses: packets are dropped as long as they last.
            if 2_000..<4_000 ~= time || 7_000..<7_100 ~= time { dropped += 1_316 }
            if loss.needsKeyframe(dropped: dropped, now: .milliseconds(time)) { requests.append(time) }
        }
        #expect(requests == [4_150, 7_250])
    }

    @Test func withoutLossesNothingIsRequested() {
        var loss = SRTLoss()
        let isNeeded = stride(from: 0, to: 60_000, by: 50).contains { time in
            loss.needsKeyframe(dropped: 0, now: .milliseconds(time))
        }
        #expect(!isNeeded)
    }
}
