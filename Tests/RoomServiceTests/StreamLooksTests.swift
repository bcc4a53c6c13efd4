import EventSubscription
import MixModel
import Testing

@testable import RoomService

@Suite struct StreamLooksTests {
    private func keys(_ numbers: Range<Int>) -> Set<IngestStreamKey> {
        Set(
            numbers.map { number in
                IngestStreamKey(StreamNames(room: RoomID("room\(number)"), user: "alice", stream: .camera))
            })
    }

    /// Simulates seconds. Returns how often each stream is looked for, and the most looks within one second.
    private func looks(_ streams: Set<IngestStreamKey>, seconds: Int) -> (counts: [IngestStreamKey: Int], most: Int) {
        var looks = StreamLooks()
        var counts: [IngestStreamKey: Int] = [:]
        var most = 0
        for tick in 0..<seconds * 4 {
            let due = looks.due(streams, now: Int64(tick) * 250_000_000)
            most = max(most, due.count)
            for key in due { counts[key, default: 0] += 1 }
        }
        return (counts, most)
    }

    @Test func eachStreamIsLookedForInTime() {
        let streams = keys(0..<40)
        let (counts, most) = looks(streams, seconds: 60)
        #expect(Set(counts.keys) == streams && counts.values.allSatisfy { 3...4 ~= $0 }, "\(counts.values)")
        #expect(most <= StreamLooks.mostAtOnce)
    }

    /// With the most streams that an ingest can have, the store is not asked more often, and all streams get their
    /// turn.
    @Test func manyStreamsWaitForTheirTurn() {
        let streams = keys(0..<1024)
        let (counts, most) = looks(streams, seconds: 110)
        #expect(Set(counts.keys) == streams && most == StreamLooks.mostAtOnce)
        #expect((counts.values.max() ?? 0) - (counts.values.min() ?? 0) <= 1)
    }

    @Test func whoHasLeftAndComesBackIsNew() {
        var looks = StreamLooks()
        let one = keys(0..<1)
        let first = looks.due(one, now: 0)
        let again = looks.due(one, now: 2_000_000_000)
        #expect(Set(first) == one && again.isEmpty)
        let gone = looks.due([], now: 4_000_000_000)
        let back = looks.due(one, now: 6_000_000_000)
        #expect(gone.isEmpty && Set(back) == one)
    }
}
