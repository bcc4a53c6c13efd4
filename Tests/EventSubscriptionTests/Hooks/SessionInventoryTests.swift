import MixModel
import Testing

@testable import EventSubscription

/// The changes in rooms that follow from a media server's statistics.
@Suite struct SessionInventoryTests {
    private final class Desk {
        var sessions = PublisherSessions(run: "1")
        var room = Room(id: "lobby")
        var now: Int64 = 100_000_000_000
        private var runs = 1

        static func published(_ user: String, _ session: String, _ step: HookSession.Step) -> HookEvent {
            HookEvent(
                room: "lobby",
                kind: .streamPublished(Publication(user: UserID(user), url: "rtmp://127.0.0.1/live/\(user)")),
                session: HookSession(id: session, step: step))
        }

        func begins(_ user: String, _ session: String, peer: String = "127.0.0.1") {
            take(Self.published(user, session, .begins), peer)
        }

        func ends(_ user: String, _ session: String, peer: String = "127.0.0.1") {
            take(
                HookEvent(
                    room: "lobby", kind: .streamUnpublished(user: UserID(user), stream: .camera, reason: nil),
                    session: HookSession(id: session, step: .ends)), peer)
        }

        private func take(_ event: HookEvent, _ peer: String, as settlement: PublisherSessions.Settlement = .stored) {
            guard case .pass(let passed) = sessions.admit(event, of: "nginx-rtmp", peer: peer, now: now) else { return }
            if settlement == .stored { _ = RoomMachine.apply(passed, to: &room) }
            sessions.settle(event, of: "nginx-rtmp", peer: peer, as: settlement)
        }

        /// Reads the statistics once.
        ///
        /// - Returns: The number of corrections.
        @discardableResult func poll(_ listed: [(String, String)], askedAt: Int64? = nil, isFirst: Bool = false) -> Int
        {
            let stored = isFirst ? room.streams.map { (room: room.id, user: $0.user, stream: $0.stream.kind) } : []
            let corrections = sessions.corrections(
                listed: listed.map { Self.published($0, $1, .continues) }, stored: stored, of: "nginx-rtmp",
                askedAt: askedAt ?? now)
            for correction in corrections { take(correction.event, correction.peer) }
            return corrections.count
        }

        func restart() {
            runs += 1
            sessions = PublisherSessions(run: "\(runs)")
        }
        func wait(_ seconds: Int64) { now += seconds * 1_000_000_000 }
        var users: [UserID] { room.streams.map(\.user).sorted { $0.rawValue < $1.rawValue } }
    }

    @Test func whatBeganAndEndedWhileTheServiceWasDownBecomesKnown() {
        let desk = Desk()
        desk.begins("alice", "1")
        desk.begins("bob", "2")
        desk.restart()
        #expect(desk.poll([("bob", "2"), ("carol", "3")], isFirst: true) == 2)
        #expect(desk.users == ["bob", "carol"])
        desk.wait(10)
        #expect(desk.poll([("bob", "2"), ("carol", "3")]) == 0)
        // The server's reports still count.
        desk.ends("bob", "2")
        desk.ends("carol", "3")
        #expect(desk.users.isEmpty)
    }

    @Test func whatIsKnownChangesNothing() {
        let desk = Desk()
        desk.begins("alice", "1")
        desk.wait(10)
        #expect(desk.poll([("alice", "1")], isFirst: true) == 0 && desk.users == ["alice"])
    }

    /// The publisher's request and the poll cross each other.
    @Test func whatBeganJustNowIsNotMissing() {
        let desk = Desk()
        let askedAt = desk.now
        desk.wait(1)
        desk.begins("alice", "1")
        #expect(desk.poll([], askedAt: askedAt) == 0 && desk.users == ["alice"])
        desk.wait(4)
        #expect(desk.poll([]) == 0, "nginx lists a publisher only after it was let in")
        desk.wait(10)
        #expect(desk.poll([]) == 1 && desk.users.isEmpty)
    }

    @Test func whatEndedJustNowDoesNotComeBack() {
        let desk = Desk()
        desk.begins("alice", "1")
        desk.wait(60)
        let askedAt = desk.now
        desk.ends("alice", "1")
        #expect(desk.poll([("alice", "1")], askedAt: askedAt) == 0 && desk.users.isEmpty)
        // Another connection does bring the stream back.
        desk.wait(60)
        #expect(desk.poll([("alice", "9")]) == 1 && desk.users == ["alice"])
    }

    /// The server turned the newer connection away and did not report it.
    @Test func theServerKnowsWhichConnectionPublishes() {
        let desk = Desk()
        desk.begins("alice", "1")
        desk.wait(60)
        desk.begins("alice", "2")
        desk.wait(60)
        desk.poll([("alice", "1")])
        desk.ends("alice", "1")
        #expect(desk.users.isEmpty)
    }

    @Test func listsWithoutConnectionsWork() {
        let desk = Desk()
        desk.poll([("alice", "")], isFirst: true)
        #expect(desk.users == ["alice"])
        desk.wait(10)
        #expect(desk.poll([("alice", "")]) == 0)
        desk.ends("alice", "192.0.2.1:4711")
        #expect(desk.users.isEmpty)
        #expect(desk.poll([("alice", "")]) == 0, "its end was reported")
    }

    /// Streams of another hook, of app servers, and of this hook from before it was polled are left alone.
    @Test func otherStreamsAreLeftAlone() {
        let desk = Desk()
        desk.begins("alice", "1")
        let corrections = desk.sessions.corrections(listed: [], stored: [], of: "srs", askedAt: .max)
        #expect(corrections.isEmpty)
    }

    @Test func theReporterOfAStreamIsKnown() {
        let desk = Desk()
        desk.begins("alice", "1")
        #expect(desk.room.reporter(of: SourceID(user: "alice", stream: .camera)) == "/v1/hooks/nginx-rtmp#1")
        #expect(desk.room.reporter(of: SourceID(user: "bob", stream: .camera)) == nil)
    }
}
