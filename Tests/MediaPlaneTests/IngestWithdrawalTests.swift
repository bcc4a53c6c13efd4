import MixModel
import RTMP
import Testing

@testable import StreamIngest

/// Publishers that leave while the orchestrator decides about them, without sockets.
@Suite struct IngestWithdrawalTests {
    private static let second: Int64 = 1_000_000_000
    private static let key = "default/lobby/alice/camera"

    private func book(withdrawals: Bool? = true) -> IngestMachine {
        var book = IngestMachine(run: "r")
        book.configure(
            IngestSettings(
                host: "127.0.0.1", port: 0, grace: 10, secret: "s3cret", silence: 1, withdrawals: withdrawals))
        _ = book.attended(process: 1)
        return book
    }

    private func ask(_ book: inout IngestMachine, _ connection: Int, _ kind: RTMPStreamRequest.Kind = .publish) {
        let wish = RTMPStreamRequest(kind: kind, application: "live", name: "lobby__alice", query: "")
        _ = book.requested(wish, by: connection, address: "::1", now: 0)
    }

    /// The report of a publisher that was allowed when it had left.
    private func late(_ session: String, _ present: IngestStream?) -> [IngestMachine.Action] {
        [.tell(.ended(stream: Self.key, session: session, reason: "left before it began", present: present))]
    }

    /// The orchestrator counts the one that left as the stream's publisher, and must not end the stream with it.
    @Test func whoLeftBeforeItBeganDoesNotEndTheStreamOfAnother() {
        var book = book()
        ask(&book, 4)
        _ = book.allowed(1, session: "r-1", stream: Self.key, now: 0)
        ask(&book, 5)
        _ = book.left(5, isClean: false, reason: "", now: 0)
        var present = IngestStream(stream: Self.key, session: "r-1", isConnected: true, isSending: true)
        #expect(book.allowed(2, session: "r-2", stream: Self.key, now: 0) == late("r-2", present))
        #expect(book.publishers == 1)
        // The first one is lost, and its place is kept.
        ask(&book, 6)
        _ = book.left(6, isClean: false, reason: "", now: 0)
        _ = book.left(4, isClean: false, reason: "", now: 0)
        (present.isConnected, present.isSending) = (false, false)
        #expect(book.allowed(3, session: "r-3", stream: Self.key, now: 0) == late("r-3", present))
        _ = book.tick(now: 10 * Self.second)
        #expect(book.allowed(3, session: "r-3", stream: Self.key, now: 10 * Self.second) == late("r-3", nil))
    }

    @Test func whoLeavesWhileItWaitsIsReported() {
        var book = book()
        ask(&book, 4)
        ask(&book, 5, .play)
        #expect(book.left(4, isClean: true, reason: "", now: 0) == [.tell(.withdrawn(session: "r-1"))])
        #expect(book.left(4, isClean: false, reason: "", now: 0).isEmpty, "once")
        #expect(book.left(5, isClean: false, reason: "", now: 0).isEmpty, "players take nobody's place")
        // One that has waited for too long is refused.
        ask(&book, 6)
        #expect(book.tick(now: 8 * Self.second).last == .tell(.withdrawn(session: "r-3")))
        // One that is answered waits no longer.
        ask(&book, 7)
        _ = book.refused(4, isName: true, reason: "")
        #expect(book.left(7, isClean: false, reason: "", now: 0).isEmpty)
    }

    /// An orchestrator of an earlier release would drop the connection.
    @Test func whoDoesNotAskForItIsNotTold() {
        var book = book(withdrawals: nil)
        ask(&book, 4)
        #expect(book.left(4, isClean: false, reason: "", now: 0).isEmpty)
        ask(&book, 5)
        #expect(book.tick(now: 8 * Self.second).count == 1)
    }
}
