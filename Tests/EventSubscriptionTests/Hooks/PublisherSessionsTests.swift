import MixModel
import TestSupport
import Testing

@testable import EventSubscription

/// The reports of a media server that reach the room.
@Suite struct PublisherSessionsTests {
    private final class Desk {
        var sessions = PublisherSessions(run: "1")
        var room = Room(id: "lobby")
        var now: Int64 = 0

        static func event(_ step: HookSession.Step, _ id: String, _ user: UserID = "alice") -> HookEvent {
            let kind: RoomEvent.Kind =
                switch step {
                case .begins, .continues:
                    .streamPublished(Publication(user: user, url: "rtmp://127.0.0.1/live/\(user)"))
                case .ends, .mayEnd: .streamUnpublished(user: user, stream: .camera, reason: nil)
                }
            return HookEvent(room: "lobby", kind: kind, session: HookSession(id: id, step: step))
        }

        /// Reports a step of a session.
        ///
        /// - Returns: Whether the report was passed on.
        @discardableResult func report(
            _ step: HookSession.Step, _ id: String, after seconds: Double = 0,
            as settlement: PublisherSessions.Settlement = .stored, peer: String = "127.0.0.1"
        ) -> Bool {
            now += Int64(seconds * 1e9)
            let event = Self.event(step, id)
            guard case .pass(let passed) = sessions.admit(event, of: "nginx-rtmp", peer: peer, now: now) else {
                return false
            }
            if settlement == .stored { _ = RoomMachine.apply(passed, to: &room) }
            sessions.settle(event, of: "nginx-rtmp", peer: peer, as: settlement)
            return true
        }

        var isPublished: Bool { room.hasStreams }
        func restart() { sessions = PublisherSessions(run: "\(UInt64.random(in: 0 ... .max))") }
    }

    @Test func aPublisherComesAndGoes() {
        let desk = Desk()
        desk.report(.begins, "7")
        #expect(desk.isPublished)
        desk.report(.ends, "7", after: 10)
        #expect(!desk.isPublished)
        #expect(!desk.report(.mayEnd, "7"))
    }

    @Test func anUpdateOfWhatIsKnownCostsNoEvent() {
        let desk = Desk()
        desk.report(.begins, "7")
        for _ in 0..<5 { #expect(!desk.report(.continues, "7", after: 30)) }
        #expect(desk.isPublished)
    }

    /// The end of the old connection arrives after the start of the new one.
    @Test func aLateEndChangesNothing() {
        let desk = Desk()
        desk.report(.begins, "7")
        desk.report(.begins, "9", after: 60)
        #expect(!desk.report(.ends, "7") && !desk.report(.mayEnd, "7") && desk.isPublished)
        desk.report(.ends, "9", after: 60)
        #expect(!desk.isPublished)
    }

    /// The room may receive events that were admitted in order in the reverse order.
    @Test func theRoomKeepsTheOrder() throws {
        var sessions = PublisherSessions(run: "1")
        var room = Room(id: "lobby")
        func admit(_ step: HookSession.Step, _ id: String) throws -> RoomEvent {
            guard case .pass(let event) = sessions.admit(Desk.event(step, id), of: "n", peer: "p", now: 0) else {
                throw InputError(.invalidField, field: "", expected: "an event")
            }
            return event
        }
        _ = RoomMachine.apply(try admit(.begins, "7"), to: &room)
        let (end, beginning) = (try admit(.ends, "7"), try admit(.begins, "9"))
        let outcomes = [RoomMachine.apply(beginning, to: &room), RoomMachine.apply(end, to: &room)]
        #expect(outcomes == [.unchanged, .stale])
        #expect(room.hasStreams)
        #expect(Set([end, beginning].map { "\($0.source) \($0.id)" }).count == 2)
    }

    @Test func aRestartedMediaServerBeginsAnew() {
        for last in ["1", "57", "2"] {
            let desk = Desk()
            desk.report(.begins, last)
            // The server was killed: no end is reported, and its connections are counted from 1 again.
            #expect(desk.report(.begins, "1", after: 60) && desk.isPublished)
            desk.report(.continues, "1", after: 30)
            #expect(desk.report(.ends, "1", after: 10) && !desk.isPublished)
            #expect(desk.report(.begins, "1", after: 1) && desk.isPublished)
        }
    }

    /// nginx asks before it notices that the name is taken.
    @Test func whoIsTurnedAwayByTheMediaServerTakesNobodyOff() {
        let desk = Desk()
        desk.report(.begins, "7")
        desk.report(.begins, "8", after: 60)
        #expect(!desk.report(.ends, "8", after: 1) && desk.isPublished)
        #expect(!desk.report(.continues, "7", after: 30))
        #expect(desk.report(.ends, "7", after: 1) && !desk.isPublished)
    }

    /// The server was killed, and the returning publisher leaves soon.
    @Test func whoReportedWasNotTurnedAway() {
        let desk = Desk()
        desk.report(.begins, "1")
        desk.report(.begins, "3", after: 60)
        desk.report(.continues, "3", after: 1)
        #expect(desk.report(.ends, "3", after: 1) && !desk.isPublished)
    }

    @Test func whoIsRefusedEndsUnseen() {
        let desk = Desk()
        desk.report(.begins, "7", as: .refused)
        #expect(!desk.report(.ends, "7") && !desk.isPublished)
        desk.report(.begins, "8")
        desk.report(.begins, "9", after: 60, as: .refused)
        #expect(!desk.report(.ends, "9") && desk.isPublished)
    }

    @Test func whatCouldNotBeStoredIsTriedAgain() {
        let desk = Desk()
        desk.report(.begins, "7", as: .failed)
        #expect(!desk.isPublished)
        #expect(desk.report(.continues, "7", after: 30) && desk.isPublished)
        desk.report(.ends, "7", as: .failed)
        #expect(desk.report(.mayEnd, "7") && !desk.isPublished)
    }

    @Test func aLateUpdateDoesNotRaiseTheDead() {
        let desk = Desk()
        desk.report(.begins, "7")
        desk.report(.ends, "7", after: 10)
        #expect(!desk.report(.continues, "7") && !desk.isPublished)
        // An update of another connection is news if its start was lost.
        #expect(desk.report(.continues, "9") && desk.isPublished)
    }

    @Test func afterARestartOfTheServiceReportsAreTakenAsTheyCome() {
        let desk = Desk()
        desk.report(.begins, "7")
        desk.restart()
        #expect(!desk.report(.mayEnd, "5") && desk.isPublished, "the end of a player")
        #expect(desk.report(.continues, "7", after: 30) && desk.isPublished)
        #expect(!desk.report(.continues, "7", after: 30))
        desk.restart()
        #expect(desk.report(.ends, "7") && !desk.isPublished)
        desk.restart()
        #expect(desk.report(.begins, "7") && desk.isPublished)
    }

    @Test func connectionsOfAnotherServerAreOthers() {
        let desk = Desk()
        desk.report(.begins, "7", peer: "10.0.0.1")
        desk.report(.begins, "7", after: 60, peer: "10.0.0.2")
        #expect(!desk.report(.ends, "7", peer: "10.0.0.1") && desk.isPublished)
    }

    @Test func providersWithIdentifiersKeepThem() {
        var sessions = PublisherSessions(run: "1")
        let event = HookEvent(room: "shop/lobby", kind: .roomOpened, id: "EV_1", sequence: 4, time: 17)
        let expected = RoomEvent(
            room: "shop/lobby", app: "shop", source: "/v1/hooks/livekit", id: "EV_1", sequence: 4, time: 17,
            kind: .roomOpened)
        for _ in 0..<2 {
            let admission = sessions.admit(event, of: "livekit", peer: "p", now: 0)
            #expect(admission == .pass(expected))
        }
    }

    @Test func memoryIsBounded() {
        var sessions = PublisherSessions(run: "1")
        for number in 0..<3 * PublisherSessions.mostStreams {
            let event = Desk.event(.begins, "\(number)", UserID("u\(number)"))
            let admission = sessions.admit(event, of: "n", peer: "p", now: 0)
            #expect(admission != .drop)
        }
        #expect(sessions.count <= PublisherSessions.mostStreams)
        let newest = 3 * PublisherSessions.mostStreams - 1
        let admission = sessions.admit(Desk.event(.ends, "0", UserID("u\(newest)")), of: "n", peer: "p", now: 0)
        #expect(admission == .drop)
    }

    /// For any order of the reports, the last connection that started and has not ended is on air.
    @Test func anyOrderEndsRight() {
        var random = SeededGenerator(announcedFor: "anyOrderEndsRight")
        for _ in 0..<2000 {
            let desk = Desk()
            var reports: [(step: HookSession.Step, id: String)] = []
            let count = Int.random(in: 1...6, using: &random)
            for id in 1...count { reports.append((.begins, "\(id)")) }
            // The end of each old connection is inserted anywhere after its start.
            for id in 1..<count where Bool.random(using: &random) {
                let begin = reports.firstIndex { $0.step == .begins && $0.id == "\(id)" } ?? 0
                reports.insert((.ends, "\(id)"), at: Int.random(in: begin + 1...reports.count, using: &random))
            }
            for report in reports { desk.report(report.step, report.id, after: 20) }
            #expect(desk.isPublished, "\(random.seed): \(reports)")
            desk.report(.continues, "\(count)", after: 30)
            desk.report(.ends, "\(count)", after: 20)
            #expect(!desk.isPublished, "\(random.seed): \(reports)")
        }
    }
}
