import Hummingbird
import NIOCore
import Testing

@testable import HTTPInterface

/// Request bodies that are read here and may be passed on afterwards.
@Suite struct BodyRecordTests {
    private func body(_ pieces: [String]) -> RequestBody {
        RequestBody(
            asyncSequence: AsyncStream { continuation in
                for piece in pieces { continuation.yield(ByteBuffer(string: piece)) }
                continuation.finish()
            })
    }

    @Test func whatWasReadIsThereAgain() async throws {
        let record = BodyRecord(body(["ab", "c", ""]))
        let request = RequestBody(asyncSequence: record)
        #expect(String(buffer: try await request.collect(upTo: 9)) == "abc")
        #expect(String(buffer: try await record.whole(upTo: 9)) == "abc")
    }

    @Test func whatWasNotReadIsReadThen() async throws {
        let record = BodyRecord(body(["ab", "c"]))
        #expect(String(buffer: try await record.whole(upTo: 9)) == "abc")
        let longer = BodyRecord(body(["ab", "c"]))
        await #expect(throws: HTTPProblem.self) { try await longer.whole(upTo: 2) }
    }

    /// A body that was read in part cannot be passed on.
    @Test func whatWasReadInPartIsRefused() async throws {
        let record = BodyRecord(body(["ab", "c"]))
        await #expect(throws: NIOTooManyBytesError.self) {
            try await RequestBody(asyncSequence: record).collect(upTo: 1)
        }
        await #expect(throws: HTTPProblem.self) { try await record.whole(upTo: 9) }
    }
}
