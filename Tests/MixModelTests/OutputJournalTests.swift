import MixModel
import Testing

@Suite struct OutputJournalTests {
    private func status(
        _ state: DestinationStatus.State, reconnects: Int = 0, error: String? = nil, id: OutputID = "main"
    ) -> DestinationStatus {
        DestinationStatus(id: id, state: state, reconnects: reconnects, lastError: error)
    }

    @Test func eachChangeIsToldOnce() {
        var journal = OutputJournal()
        func take(_ statuses: DestinationStatus...) -> [String] {
            journal.take(statuses, causes: ["c"], now: 0).map(\.message)
        }
        #expect(take(status(.connecting)).isEmpty)
        #expect(take(status(.live)) == ["output main: connecting → live"])
        #expect(take(status(.live)).isEmpty)
        #expect(take(status(.recovering, error: "reset")) == ["output main: live → recovering: reset"])
        #expect(take(status(.recovering, error: "refused")).isEmpty)
        #expect(take(status(.live, reconnects: 1)) == ["output main: recovering → live"])
        // The change was so quick that no status contained it.
        #expect(take(status(.live, reconnects: 2)) == ["output main: reconnected, 2 times so far"])
        #expect(take(status(.failed, error: "key refused")) == ["output main: live → failed: key refused"])
        #expect(take() == ["output main: closed"])
        #expect(take(status(.live)) == ["output main: live"])
    }

    @Test func aFlappingOutputIsNotToldOfForEver() {
        var journal = OutputJournal()
        var told: [TimelineEntry] = []
        for number in 0..<200 {
            let state: DestinationStatus.State = number.isMultiple(of: 2) ? .live : .recovering
            told += journal.take([status(state)], causes: nil, now: Int64(number) * 100_000_000)
        }
        #expect(told.count == OutputJournal.mostLines)
        let later = journal.take([status(.live)], causes: nil, now: 200_000_000_000)
        #expect(later.map(\.message) == ["output main: recovering → live (190 earlier changes omitted)"])
        // Changes of other outputs are still recorded.
        #expect(!journal.take([status(.live), status(.live, id: "b")], causes: nil, now: 0).isEmpty)
    }
}
