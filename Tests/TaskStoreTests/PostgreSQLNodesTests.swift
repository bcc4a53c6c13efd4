import Foundation
import MixModel
import StoreSupport
import TestSupport
import Testing

@testable import PostgreSQLStore
@testable import TaskStore

/// Two stores on one schema, as on two machines.
@Suite(needsPostgreSQL) struct PostgreSQLNodesTests {
    private func withStores(
        _ body: (PostgreSQLTaskStore, PostgreSQLTaskStore) async throws -> Void
    ) async throws {
        try await withSchema { server, schema in
            // Both stores try to create the tables; one succeeds.
            async let first = PostgreSQLTaskStore(target(server, schema))
            async let second = PostgreSQLTaskStore(target(server, schema))
            let stores = try await (first, second)
            #expect(stores.0.cluster == stores.1.cluster)
            try await body(stores.0, stores.1)
            await stores.0.close()
            await stores.1.close()
        }
    }

    @Test func anEventIsStoredOnce() async throws {
        try await withStores { first, second in
            for number in 0..<200 {
                async let one = outcome(of: StoreChange(event: event("\(number)")), in: first)
                async let two = outcome(of: StoreChange(event: event("\(number)")), in: second)
                let results = await [one, two]
                #expect(results.contains(.success(.committed)) && results.contains(.success(.duplicate)), "\(results)")
            }
            let stored = try await first.events(of: "demo", limit: 999)
            #expect(stored.count == 200)
        }
    }

    @Test func oneWinsARaceForADocument() async throws {
        try await withStores { first, second in
            for version in 0..<100 {
                func change(_ host: UserID) -> StoreChange {
                    StoreChange(room: .put(Room(id: "demo", settings: RoomSettings(host: host)), expected: version))
                }
                async let one = outcome(of: change("one"), in: first)
                async let two = outcome(of: change("two"), in: second)
                let results = await [one, two]
                #expect(results.contains(.success(.committed)), "\(results)")
                #expect(results.contains(.failure(.conflict(document: "demo"))), "\(results)")
            }
            let room = try await first.room("demo")
            #expect(room?.version == 100)
        }
    }

    /// The server's clock decides about leases, and a takeover fences the old holder.
    @Test func aTaskIsTakenOverWhenTheLeaseRunsOut() async throws {
        try await withStores { first, second in
            let one = try await first.register("one", for: .seconds(60))
            let two = try await second.register("two", for: .seconds(60))
            let lease = try #require(try await first.claim(["t"], by: one, for: .seconds(60)).first)
            #expect(try await second.claim(["t"], by: two, for: .seconds(60)).isEmpty)
            #expect(try await first.renew(one, for: .milliseconds(600)) == .kept)
            let taken = try await poll(within: .seconds(60), every: .milliseconds(50)) {
                try await second.claim(["t"], by: two, for: .seconds(60)).first
            }
            #expect(taken?.fence.epoch == lease.fence.epoch + 1)
            let late = await outcome(
                of: StoreChange(event: event("late"), require: [.init(task: "t", fence: lease.fence)]), in: first)
            #expect(late == .failure(.fenced("task t")))
            #expect(try await first.renew(one, for: .seconds(9)) == .lapsed)
            try await second.expel(one)
            await #expect(throws: StoreError.expelled(one)) { try await first.renew(one, for: .seconds(9)) }
            await #expect(throws: StoreError.expelled(one)) { try await first.claim(["x"], by: one, for: .seconds(9)) }
        }
    }

    /// Copies of a machine may start at the same time: one of them registers.
    @Test func ofCopiesThatStartTogetherOneIsKeptOut() async throws {
        try await withStores { first, second in
            for number in 0..<50 {
                async let one = Self.registers("n\(number)", at: "boot 1", in: first)
                async let two = Self.registers("n\(number)", at: "boot 2", in: second)
                let results = await [one, two]
                #expect(results.contains(true) && results.contains(false), "\(results)")
            }
            let nodes = try await first.nodes()
            #expect(nodes.count == 50)
        }
    }

    private static func registers(_ name: String, at site: String, in store: PostgreSQLTaskStore) async -> Bool {
        do throws(StoreError) {
            _ = try await store.register(name, at: site, for: .seconds(60))
            return true
        } catch {
            #expect(error == .copied(name))
            return false
        }
    }

    /// A database that is restored gives numbers a second time. The node that had the number notices that it is not
    /// known any more, and leaves the rooms of the node that has it now alone.
    @Test func aNumberThatIsGivenAgainIsAnotherNodes() async throws {
        try await withStores { first, second in
            let one = try await first.register("one", for: .seconds(60))
            let number = try #require(PostgreSQLLeases.number(of: one))
            try await first.write { connection, _ in
                try connection.execute("DELETE FROM nodes")
                try connection.execute("ALTER TABLE nodes ALTER COLUMN number RESTART WITH \(number)")
            }
            let two = try await second.register("two", for: .seconds(60))
            #expect(PostgreSQLLeases.number(of: two) == number)
            let lease = try #require(try await second.claim(["t"], by: two, for: .seconds(60)).first)

            await #expect(throws: StoreError.expelled(one)) { try await first.renew(one, for: .seconds(60)) }
            await #expect(throws: StoreError.expelled(one)) {
                try await first.announce(one, NodeProfile(name: "a", url: "http://a", key: "k"))
            }
            await #expect(throws: StoreError.expelled(one)) { try await first.claim(["t"], by: one, for: .seconds(60)) }
            try await first.expel(one)
            #expect(try await first.roster().map(\.node.id) == [two])
            #expect(try await second.renew(two, for: .seconds(60)) == .kept)
            #expect(try await second.leases(of: two) == [lease])
        }
    }

    @Test func manyTasksAreSharedOut() async throws {
        try await withStores { first, second in
            for number in 0..<60 {
                let task = TaskMachine(id: TaskID("t\(number)"), room: "demo")
                _ = try await first.commit(
                    StoreChange(tasks: [.init(id: task.id, write: .put(task, expected: 0))]))
            }
            let (one, two) = (
                try await first.register("one", for: .seconds(60)), try await second.register("two", for: .seconds(60))
            )
            var held: [TaskID] = []
            for _ in 0..<9 {
                async let left = first.claimAvailable(by: one, limit: 5, for: .seconds(60))
                async let right = second.claimAvailable(by: two, limit: 5, for: .seconds(60))
                held += try await (left + right).map(\.task)
            }
            held += try await first.claimAvailable(by: one, limit: 99, for: .seconds(60)).map(\.task)
            #expect(held.count == 60)
            #expect(Set(held).count == 60)
        }
    }

    @Test func aMessageIsTakenByOne() async throws {
        try await withStores { first, second in
            let subscription = Subscription(id: "s", app: .standard, kind: .own, url: "http://127.0.0.1", createdAt: 0)
            _ = try await first.commit(StoreChange(subscription: .put(subscription, expected: 0)))
            for number in 0..<100 {
                let message = OutboxMessage(
                    id: "\(number)", subscription: "s", lane: "l\(number)", topic: .test, body: [0, 255])
                _ = try await first.commit(StoreChange(outbox: [message]))
            }
            var taken: [String] = []
            for _ in 0..<40 {
                async let left = first.takeMessages(of: "s", limit: 4, lease: .seconds(60))
                async let right = second.takeMessages(of: "s", limit: 4, lease: .seconds(60))
                taken += try await (left.items + right.items).map(\.message.id)
            }
            #expect(taken.count == 100)
            #expect(Set(taken).count == 100)
        }
    }

    /// A message that is stored while the one before it is settled at another node becomes due and is not forgotten.
    @Test func noLaneGetsStuck() async throws {
        try await withStores { first, second in
            let subscription = Subscription(id: "s", app: .standard, kind: .own, url: "http://127.0.0.1", createdAt: 0)
            _ = try await first.commit(StoreChange(subscription: .put(subscription, expected: 0)))
            func message(_ id: Int) -> OutboxMessage {
                OutboxMessage(id: "\(id)", subscription: "s", lane: "l", topic: .test, body: [])
            }
            _ = try await first.commit(StoreChange(outbox: [message(0)]))
            for number in 1...150 {
                let item = try #require(
                    try await second.takeMessages(of: "s", limit: 1, lease: .seconds(60)).items.first, "\(number)")
                #expect(item.message.id == "\(number - 1)")
                async let stored = first.commit(StoreChange(outbox: [message(number)]))
                async let settled: Void = second.settle(item, .delivered, attempt: nil)
                #expect(try await stored == .committed)
                try await settled
            }
        }
    }

    /// The same for a message that is sent again.
    @Test func noLaneGetsStuckByAMessageThatIsSentAgain() async throws {
        try await withStores { first, second in
            let subscription = Subscription(id: "s", app: .standard, kind: .own, url: "http://127.0.0.1", createdAt: 0)
            _ = try await first.commit(StoreChange(subscription: .put(subscription, expected: 0)))
            func add(_ id: String) async throws -> OutboxItem {
                let message = OutboxMessage(id: id, subscription: "s", lane: "l", topic: .test, body: [])
                _ = try await first.commit(StoreChange(outbox: [message]))
                return try #require(try await second.takeMessages(of: "s", limit: 1, lease: .seconds(60)).items.first)
            }
            let dead = try await add("dead")
            try await second.settle(dead, .givenUp, attempt: nil)
            let head = try await add("head")
            let (sending, isSent) = AsyncStream.makeStream(of: Void.self)
            async let again: Bool = first.write { connection, time in
                defer { isSent.finish() }
                let again = try PostgreSQLOutbox.sendAgain("dead", of: "s", connection, at: time)
                isSent.finish()
                // The transaction goes on until the other node waits for it.
                for _ in 0..<200 {
                    let waiting = try connection.execute("SELECT 1 FROM pg_locks WHERE NOT granted LIMIT 1")
                    guard waiting.rows.isEmpty else { break }
                    Thread.sleep(forTimeInterval: 0.005)
                }
                return again
            }
            for await _ in sending {}
            try await second.settle(head, .delivered, attempt: nil)
            #expect(try await again)
            let next = try await second.takeMessages(of: "s", limit: 1, lease: .seconds(60))
            #expect(next.items.map(\.message.id) == ["dead"])
        }
    }
}
