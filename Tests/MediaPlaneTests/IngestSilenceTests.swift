import Foundation
import MixModel
import RTMP
import Testing

@testable import StreamIngest

/// The ingest's reports about publishers that send, and about those that do not, without sockets.
@Suite struct IngestSilenceTests {
    private static let second: Int64 = 1_000_000_000
    private static let key = "default/lobby/alice/camera"

    private func book(silence: Double? = 1) -> IngestMachine {
        var book = IngestMachine(run: "r")
        book.configure(
            IngestSettings(host: "127.0.0.1", port: 0, grace: 10, secret: "s3cret", silence: silence))
        _ = book.attended(process: 1)
        return book
    }

    /// Makes a connection publish with the orchestrator's permission.
    private func publish(_ book: inout IngestMachine, _ connection: Int, now: Int64) -> [IngestMachine.Action] {
        let wish = RTMPStreamRequest(kind: .publish, application: "live", name: "lobby__alice", query: "")
        guard case .tell(.ask(let ask))? = book.requested(wish, by: connection, address: "::1", now: now).first else {
            Issue.record("nobody was asked")
            return []
        }
        return book.allowed(ask.request, session: ask.session, stream: Self.key, now: now)
    }

    private func report(_ session: String, _ isSending: Bool) -> IngestMachine.Action {
        .tell(.sending(stream: Self.key, session: session, isSending: isSending))
    }

    /// A publisher has a second from its beginning, and from each frame.
    @Test func aPublisherThatStopsIsReportedOnce() {
        var book = book()
        #expect(publish(&book, 4, now: 0).last == report("r-1", true))
        #expect(book.deadline == Self.second)
        #expect(book.heard(Self.key, by: 4, now: Self.second / 2).isEmpty)
        #expect(book.tick(now: Self.second).isEmpty)
        #expect(book.deadline == Self.second * 3 / 2)
        #expect(book.tick(now: Self.second * 3 / 2) == [report("r-1", false)])
        #expect(book.deadline == .max)
        #expect(book.tick(now: 9 * Self.second).isEmpty)
        #expect(book.heard(Self.key, by: 4, now: 10 * Self.second) == [report("r-1", true)])
        #expect(book.heard(Self.key, by: 4, now: 10 * Self.second).isEmpty)
    }

    /// Two seconds with a hundred reads each.
    @Test func framesAreNotedTenTimesASecond() {
        let stream = RelayedStream()
        let noted = (Int64(0)..<200).count { stream.passesNotice(now: $0 * Self.second / 100) }
        #expect(noted == 20)
    }

    @Test func onlyTheStreamsPublisherCounts() {
        var book = book()
        _ = publish(&book, 4, now: 0)
        #expect(publish(&book, 5, now: Self.second / 2).last == report("r-2", true))
        #expect(book.heard(Self.key, by: 4, now: Self.second).isEmpty, "it was replaced")
        #expect(book.tick(now: Self.second * 3 / 2) == [report("r-2", false)])
        #expect(book.heard(Self.key, by: 4, now: 2 * Self.second).isEmpty)
        #expect(book.heard("default/lobby/bob/camera", by: 4, now: 2 * Self.second).isEmpty)
        // A lost publisher is reported as lost, and not as silent.
        #expect(book.heard(Self.key, by: 5, now: 3 * Self.second) == [report("r-2", true)])
        #expect(
            book.left(5, isClean: false, reason: "x", now: 3 * Self.second)
                == [.tell(.interrupted(stream: Self.key, session: "r-2", reason: "x"))])
        #expect(book.heard(Self.key, by: 5, now: 3 * Self.second).isEmpty)
        #expect(book.tick(now: 5 * Self.second).isEmpty)
    }

    /// A service that connects again is told what it has missed.
    @Test func theServiceIsToldWhoSends() {
        for isSending in [true, false] {
            var book = book()
            _ = publish(&book, 4, now: 0)
            if !isSending { _ = book.tick(now: Self.second) }
            let live = IngestStream(stream: Self.key, session: "r-1", isConnected: true, isSending: isSending)
            let told = book.attended(process: 1)
            #expect(told.contains(.tell(.live(live))))
        }
    }

    /// Services of earlier releases do not know the reports.
    @Test func aServiceThatDoesNotAskIsToldNothing() throws {
        var book = book(silence: nil)
        #expect(publish(&book, 4, now: 0).last == .begin(stream: Self.key, connection: 4))
        #expect(book.heard(Self.key, by: 4, now: 1).isEmpty)
        #expect(book.tick(now: 5 * Self.second).isEmpty)
        let live = IngestStream(stream: Self.key, session: "r-1", isConnected: true)
        let told = book.attended(process: 1)
        #expect(told.contains(.tell(.live(live))))
        let settings = #"{"host":"::1","port":1935,"grace":10,"secret":"s"}"#
        #expect(try JSONDecoder().decode(IngestSettings.self, from: Data(settings.utf8)).silence == nil)
        let earlier = #"{"stream":"a/b/c/camera","session":"r-1","isConnected":true}"#
        #expect(try JSONDecoder().decode(IngestStream.self, from: Data(earlier.utf8)).isSending == nil)
    }
}
