import MixModel
import Testing

@testable import TaskStore

/// Nothing is kept for ever, and nothing is removed too soon.
@Suite struct RetentionConformance {
    private func removeAll(_ store: any TaskStore) async throws -> Int {
        var sum = 0
        while case let count = try await store.removeExpired(), count > 0 { sum += count }
        return sum
    }

    @Test(arguments: StoreUnderTest.all)
    func oldEventsGo(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            var retention = Retention()
            retention.eventAge = 100
            let store = try kind.open(directory, clock: time.clock, retention: retention)
            for number in 0..<10 {
                _ = try await store.commit(StoreChange(event: event("\(number)")))
                time.advance(20)
            }
            // The events were stored 200, 180 … 20 s ago.
            #expect(try await removeAll(store) == 5)
            #expect(try await store.events(of: "demo", limit: 99).map(\.id) == ["5", "6", "7", "8", "9"])
            #expect(try await removeAll(store) == 0)
            #expect(try await store.commit(StoreChange(event: event("5"))) == .duplicate)
            // The event is no longer known, and is therefore accepted again.
            #expect(try await store.commit(StoreChange(event: event("4"))) == .committed)
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func eventsBeyondTheirNumberGo(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            var retention = Retention()
            retention.events = 700
            let store = try kind.open(directory, clock: .system, retention: retention)
            for number in 0..<3000 {
                _ = try await store.commit(StoreChange(event: event("\(number)", room: RoomID("room\(number % 3)"))))
            }
            _ = try await removeAll(store)
            var kept: [String] = []
            for room in 0..<3 { kept += try await store.events(of: RoomID("room\(room)"), limit: 9999).map(\.id) }
            #expect(Set(kept) == Set((2300..<3000).map(String.init)))
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func oldTimelineEntriesAreDropped(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            for batch in 0..<20 {
                let entries = (0..<100).map {
                    StampedEntry(at: 0, entry: TimelineEntry(kind: .event, message: "\(batch * 100 + $0)"))
                }
                _ = try await store.commit(StoreChange(tasks: [.init(id: "auto-demo", timeline: entries)]))
            }
            let kept = try await store.timeline(of: "auto-demo", limit: 10_000)
            #expect(kept.first?.entry.message == "1999")
            #expect(Retention.timelineEntries...Retention.timelineEntries + 64 ~= kept.count, "\(kept.count)")
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func whatIsKeptOfARemovedTaskGoesAfterAWhile(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            let store = try kind.open(directory, clock: time.clock)
            let entries = (0..<900).map { StampedEntry(at: 0, entry: TimelineEntry(kind: .event, message: "\($0)")) }
            for id in ["gone", "back", "stays"] as [TaskID] {
                let write = StoreChange.Write.put(TaskMachine(id: id, room: "demo"), expected: 0)
                _ = try await store.commit(StoreChange(tasks: [.init(id: id, write: write, timeline: entries)]))
            }
            for id in ["gone", "back"] as [TaskID] {
                _ = try await store.commit(
                    StoreChange(tasks: [.init(id: id, write: .delete(id: id.rawValue, expected: 1))]))
            }
            #expect(try await store.timeline(of: "gone", limit: 1).count == 1, "can still be read")
            let again = StoreChange.Write.put(TaskMachine(id: "back", room: "demo"), expected: 0)
            _ = try await store.commit(StoreChange(tasks: [.init(id: "back", write: again)]))
            #expect(try await removeAll(store) == 0)
            time.advance(Retention().removedTaskAge + 1)
            #expect(try await removeAll(store) > 0)
            #expect(try await store.timeline(of: "gone", limit: 1).isEmpty)
            #expect(try await store.timeline(of: "back", limit: 1).count == 1)
            #expect(try await store.timeline(of: "stays", limit: 1).count == 1)
            #expect(try await removeAll(store) == 0)
            await store.close()
        }
    }
}
