import MixModel
import Testing

@testable import TaskStore

/// A clock that is moved by a day, forward or back.
@Suite struct ClockJumpConformance {
    static let day = 86_400.0

    private func message(_ id: String) -> OutboxMessage {
        OutboxMessage(id: id, subscription: "sub", lane: id, topic: .test, body: [1])
    }

    private func prepared(_ store: any TaskStore) async throws -> NodeID {
        let subscription = Subscription(id: "sub", app: "default", kind: .own, url: "http://127.0.0.1/", createdAt: 1)
        _ = try await store.commit(
            StoreChange(subscription: .put(subscription, expected: 0)))
        _ = try await store.commit(
            StoreChange(
                event: event("1"),
                tasks: [.init(id: "auto-demo", write: .put(TaskMachine(id: "auto-demo", room: "demo"), expected: 0))],
                outbox: [message("m1"), message("m2")]))
        return try await store.register("local", for: .seconds(30))
    }

    @Test(arguments: StoreUnderTest.all, [day, -day])
    func nothingIsLostOrStuck(_ kind: StoreUnderTest, _ jump: Double) async throws {
        try await withDirectory { directory in
            let clock = ManualClock()
            let store = try kind.open(directory, clock: clock.clock)
            let node = try await prepared(store)
            let lease = try #require(try await store.claim(["auto-demo"], by: node, for: .seconds(30)).first)
            let taken = try await store.takeMessages(of: "sub", limit: 1, lease: .seconds(20))
            try await store.settle(try #require(taken.items.first), .retry(after: .seconds(300)), attempt: nil)

            clock.advance(jump)
            // A repeated event is still a duplicate, and nothing is too old.
            #expect(try await store.commit(StoreChange(event: event("1"))) == .duplicate)
            #expect(try await store.removeExpired() == 0)
            // The holder can still write, and renews the lease of its task.
            let guarded = StoreChange(
                event: event("2"), require: [.init(task: "auto-demo", fence: lease.fence)])
            #expect(try await store.commit(guarded) == .committed)
            _ = try await store.renew(node, for: .seconds(30))
            #expect(try await store.leases(of: node) == [lease])
            // A message that waits for five minutes waits at most that long, and the other one is due.
            var found = try await store.takeMessages(of: "sub", limit: 9, lease: .seconds(20)).items.map(\.message.id)
            clock.advance(301)
            found += try await store.takeMessages(of: "sub", limit: 9, lease: .seconds(20)).items.map(\.message.id)
            #expect(Set(found) == ["m1", "m2"], "\(found)")

            // A node that died before the clock was set back does not hold its tasks for a day.
            clock.advance(31)
            let next = try await store.register("other", for: .seconds(30))
            #expect(try await store.claim(["auto-demo"], by: next, for: .seconds(30)).count == 1)
            await store.close()
        }
    }

    @Test func aClockThatWasSetBackBetweenTwoStartsHoldsUpNothing() async throws {
        try await withDirectory { directory in
            let clock = ManualClock()
            let first = try SQLiteTaskStore(path: directory + "/store.sqlite", clock: clock.clock)
            _ = try await prepared(first)
            let taken = try await first.takeMessages(of: "sub", limit: 2, lease: .seconds(20))
            for item in taken.items { try await first.settle(item, .retry(after: .seconds(300)), attempt: nil) }
            await first.close()
            clock.advance(-Self.day)
            let second = try SQLiteTaskStore(path: directory + "/store.sqlite", clock: clock.clock)
            #expect(try await second.takeMessages(of: "sub", limit: 2, lease: .seconds(20)).items.isEmpty)
            clock.advance(301)
            #expect(try await second.takeMessages(of: "sub", limit: 2, lease: .seconds(20)).items.count == 2)
            await second.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func nobodyIsToldToWaitForLongerThanAnHour(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let clock = ManualClock()
            let store = try kind.open(directory, clock: clock.clock)
            _ = try await prepared(store)
            let taken = try await store.takeMessages(of: "sub", limit: 2, lease: .seconds(20))
            for item in taken.items { try await store.settle(item, .retry(after: .seconds(1e9)), attempt: nil) }
            #expect(try await store.takeMessages(of: "sub", limit: 2, lease: .seconds(20)).next == .seconds(3600))
            await store.close()
        }
    }
}
