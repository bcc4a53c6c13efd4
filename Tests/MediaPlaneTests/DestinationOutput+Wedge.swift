import Testing
import EncodedMedia

@testable import ProgramRelay
@testable import RTMP

extension DestinationOutput {
    /// Waits until `count` bytes are sent, makes the destination stop reading, and expects the output to notice in
    /// time.
    ///
    /// The output decides after 3.2 s, and 5 s are promised. The time is printed, because a busy machine adds to it.
    func expectWedgeNoticed(_ name: String, afterBytes count: Int64, _ freeze: () throws -> Void) async throws {
        #expect(try await outputEventually { self.status.bytesSent > count })
        #expect(status.state == .live && status.reconnects == 0)
        try freeze()
        let start = ContinuousClock.now
        #expect(try await outputEventually { self.status.state == .recovering })
        let delay = ContinuousClock.now - start
        print("\(name): noticed after \(delay / .milliseconds(1)) ms:", status.lastError ?? "")
        #expect(delay <= .seconds(10))
        #expect(status.lastErrorCode == .wedged)
    }
}
