import MixModel
import Testing

@testable import RoomService

@Suite struct PublisherNotesTests {
    private func room(_ number: Int) -> RoomID { RoomID(app: .standard, name: "room\(number)") }

    @Test func strangersCannotFillATimeline() {
        var notes = PublisherNotes()
        let told = (0..<1000).filter { second in
            notes.permits("the token is not known", in: room(1), now: Int64(second) * 1_000_000_000)
        }
        #expect(told == [0, 300, 600, 900])
        let others = (1000..<1100).filter { notes.permits("\($0)", in: room(1), now: Int64($0) * 1_000_000_000) }
        #expect(others.count == 10, "other words each ten seconds")
    }

    @Test func onlySoManyRoomsAreRemembered() {
        var notes = PublisherNotes()
        let told = (0..<1000).filter { notes.permits("expired", in: room($0), now: 5) }
        #expect(told.count == PublisherNotes.most)
        let isToldLater = notes.permits("expired", in: room(999), now: 5 + PublisherNotes.interval)
        #expect(isToldLater)
    }
}
