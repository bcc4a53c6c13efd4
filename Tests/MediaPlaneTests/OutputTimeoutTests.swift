import Testing

@testable import ProgramRelay
@testable import RTMP
@testable import StreamIngest

/// The time limits of an RTMP output for its server.
@Suite struct OutputTimeoutTests {
    @Test func aServerMayTakeAsLongToAcceptAPublisherAsOurOwn() {
        let wait = Int64(RTMPSocketConnection.timeouts.limit(of: .start)) * 1_000_000_000
        #expect(wait > IngestMachine.Limits().answer)
        #expect(wait < OutputMachine.Policy().connectLimit, "and its own words say what was missing")
        #expect(RTMPSocketConnection.timeouts.limit(of: .connect) == 5)
    }

    @Test func withoutAnotherLimitEveryStepHasTheSame() {
        let timeouts = RTMPSession.Timeouts(step: 7, idle: 3)
        for step in [RTMPClient.Step.handshake, .connect, .createStream, .start] {
            #expect(timeouts.limit(of: step) == 7, "\(step)")
        }
        #expect(timeouts.limit(of: .running) == 3)
    }
}
