import EventSubscription
import MixModel
import Testing

@testable import RoomService

/// The places of an app's publishers at an ingest.
@Suite struct IngestQuotaTests {
    private static let url = "rtmp://127.0.0.1:1935/relay/x"

    private func key(_ app: String, _ room: String, _ user: String = "alice") -> IngestStreamKey {
        IngestStreamKey(
            StreamNames(room: RoomID(app: AppID(app), name: room), user: UserID(user), stream: .camera))
    }

    private func begin(_ desk: inout IngestDesk, _ key: IngestStreamKey, _ session: String = "s") {
        #expect(desk.begins(key, session: session, url: Self.url, now: 0) != nil)
        desk.settle(key, session: session, url: Self.url, as: .stored, now: 0)
    }

    @Test func anAppAtItsLimitTakesNoOthersPlace() {
        var desk = IngestDesk(run: "r", now: 0)
        #expect(!desk.hasPlace(for: key("shop", "a"), most: 0))
        for room in ["a", "b"] {
            #expect(desk.hasPlace(for: key("shop", room), most: 2))
            begin(&desk, key("shop", room))
        }
        #expect(!desk.hasPlace(for: key("shop", "c"), most: 2) && desk.hasPlace(for: key("shop", "c"), most: 3))
        #expect(!desk.hasPlace(for: key("shop", "a", "bob"), most: 2), "in a room that is on air")
        #expect(desk.hasPlace(for: key("zoo", "a"), most: 1) && desk.hasPlace(for: key("default", "a"), most: 1))
        #expect(desk.ends(key("shop", "a"), session: "s", now: 1) != nil)
        #expect(!desk.hasPlace(for: key("shop", "c"), most: 2), "its end is not stored yet")
        desk.settleEnd(key("shop", "a"), session: "s", as: .stored)
        #expect(desk.hasPlace(for: key("shop", "c"), most: 2))
    }

    /// Rooms store their events at the same time.
    @Test func whoIsAboutToBeginHasItsPlace() {
        var desk = IngestDesk(run: "r", now: 0)
        let first = key("shop", "a")
        #expect(desk.begins(first, session: "s", url: Self.url, now: 0) != nil)
        #expect(desk.isBeginning(first) && !desk.hasPlace(for: key("shop", "b"), most: 1))
        desk.settle(first, session: "s", url: Self.url, as: .refused, now: 0)
        #expect(!desk.isBeginning(first) && desk.hasPlace(for: key("shop", "b"), most: 1), "its room has refused it")
        begin(&desk, first)
        #expect(desk.begins(first, session: "t", url: Self.url, now: 1) != nil)
        #expect(desk.hasPlace(for: key("shop", "b"), most: 2), "who takes over has one place, not two")
    }

    /// Takeovers and returns keep the stream's place, also when the limit has been lowered.
    @Test func whoTakesOverOrReturnsHasThePlaceOfTheStream() {
        var desk = IngestDesk(run: "r", now: 0)
        let (alice, bob) = (key("shop", "a"), key("shop", "b"))
        begin(&desk, alice)
        begin(&desk, bob)
        #expect(desk.hasPlace(for: alice, most: 1), "while the first publisher is connected")
        desk.interrupted(bob, session: "s")
        #expect(desk.hasPlace(for: bob, most: 1) && !desk.hasPlace(for: key("shop", "c"), most: 2))
        desk.lost(now: 5)
        #expect(desk.hasPlace(for: alice, most: 1) && !desk.hasPlace(for: key("shop", "c"), most: 2))
        // The service was restarted.
        let next = IngestDesk(run: "t", journal: desk.journal, now: 6)
        #expect(next.hasPlace(for: bob, most: 1) && !next.hasPlace(for: key("shop", "c"), most: 2))
    }
}
