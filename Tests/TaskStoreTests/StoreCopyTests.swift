import Foundation
import GRDB
import MixModel
import StoreSupport
import TestSupport
import Testing

@testable import PostgreSQLStore
@testable import TaskStore

/// A whole store is copied from one engine to the other and back, and stays the same.
@Suite(needsPostgreSQL) struct StoreCopyTests {
    /// Fills every table.
    private func fill(_ store: any TaskStore) async throws {
        let subscription = Subscription(id: "s", app: .standard, kind: .own, url: "http://127.0.0.1", createdAt: 1.25)
        _ = try await store.commit(StoreChange(subscription: .put(subscription, expected: 0)))
        for number in 0..<1200 {
            let (room, task) = (RoomID("r\(number % 700)"), TaskID("t\(number % 700)"))
            let isNew = number < 700
            let entry = StampedEntry(at: 0.1, entry: TimelineEntry(kind: .event, message: "\"é\\\n{}\(number)"))
            _ = try await store.commit(
                StoreChange(
                    event: event("\(number)", room: room), room: .put(Room(id: room), expected: isNew ? 0 : 1),
                    tasks: [
                        .init(
                            id: task, write: .put(TaskMachine(id: task, room: room), expected: isNew ? 0 : 1),
                            timeline: [entry])
                    ],
                    layoutVersion: NewLayoutVersion(
                        layout: "l\(number % 20)", number: number + 1, at: 1, origin: .api, content: [0, 255, 92]),
                    layoutEvent: LayoutEvent(layout: "l", at: 1, kind: .changed, version: 1, message: "m"),
                    outbox: [
                        OutboxMessage(
                            id: "m\(number)", subscription: "s", lane: "l\(number % 5)", topic: .test,
                            body: [0, 1, 254])
                    ]))
        }
        _ = try await store.commit(StoreChange(tasks: [.init(id: "t1", write: .delete(id: "t1", expected: 2))]))
        let message = StoredMessage(id: 1 << 50, document: "{\"text\": \"é\"}")
        try await store.commit(ChannelChange(of: "r1", messages: [message], document: "{}", kept: 9))
        let dead = try await store.register("dead", for: .seconds(0))
        _ = try await store.claimAvailable(by: dead, limit: 50, for: .seconds(0))
        let item = try #require(try await store.takeMessages(of: "s", limit: 3, lease: .seconds(1)).items.first)
        let attempt = DeliveryAttempt(number: 1, at: 1e9 / 3, code: 200, milliseconds: 1, error: nil, url: "http://x")
        try await store.settle(item, .delivered, attempt: attempt)
        _ = try await store.register("gone", for: .seconds(0))
        let gone = try await store.register("gone", for: .seconds(0))
        try await store.expel(gone)
    }

    @Test func thereAndBack() async throws {
        try await withDirectory { directory in
            try await withSchema { server, schema in
                let (first, second) = (directory + "/first.sqlite", directory + "/second.sqlite")
                let store = try SQLiteTaskStore(path: first)
                try await fill(store)
                await store.close()
                let queue = try DatabaseQueue(path: first)
                try await queue.write { db in
                    try db.execute(sql: SetAside.table)
                    try db.execute(
                        sql: "INSERT INTO set_aside (source, id, document, at) VALUES ('rooms', 'x', '{', 1.5)")
                }
                try queue.close()

                let file = try SQLiteContents(path: first, creates: false)
                let database = try PostgreSQLContents(target(server, schema))
                let there = try StoreCopy.copy(from: file, to: database)
                #expect(there.allSatisfy { $0.rows > 0 || ["switches"].contains($0.table) }, "\(there)")
                #expect(throws: StoreError.self) { try StoreCopy.copy(from: file, to: database) }
                let other = try SQLiteContents(path: second, creates: true)
                let back = try StoreCopy.copy(from: database, to: other)
                #expect(back.map(\.rows) == there.map(\.rows))
                for table in StoredTable.all {
                    let (left, right) = (
                        try file.transaction { try file.rows(table, after: nil, limit: 9999) },
                        try other.transaction { try other.rows(table, after: nil, limit: 9999) }
                    )
                    #expect(left == right, "\(table.name)")
                }
                file.close()
                other.close()

                // Both stores continue where the first one stopped.
                let stores: [any TaskStore] = [
                    try SQLiteTaskStore(path: second), try PostgreSQLTaskStore(target(server, schema)),
                ]
                for store in stores {
                    #expect(try await store.commit(StoreChange(event: event("3", room: "r3"))) == .duplicate)
                    #expect(try await store.commit(StoreChange(event: event("new"))) == .committed)
                    #expect(try await store.room("r1")?.version == 2)
                    let node = try await store.register("next", for: .seconds(9))
                    #expect(node.rawValue == "next#4", "a number is never used twice")
                    #expect(try await store.claim(["t10"], by: node, for: .seconds(9)).first?.fence.epoch == 2)
                    await store.close()
                }
            }
        }
    }

    @Test func aTextThatTheTargetCannotHoldLeavesItEmpty() async throws {
        try await withDirectory { directory in
            try await withSchema { server, schema in
                let path = directory + "/store.sqlite"
                let store = try SQLiteTaskStore(path: path)
                _ = try await store.commit(StoreChange(event: event("good")))
                await store.close()
                // The store does not write such a text, but another program may.
                let queue = try DatabaseQueue(path: path)
                try await queue.write { try $0.execute(sql: "UPDATE events SET id = CAST(x'610062' AS TEXT)") }
                try queue.close()
                let file = try SQLiteContents(path: path, creates: false)
                let database = try PostgreSQLContents(target(server, schema))
                let error = #expect(throws: StoreError.self) { try StoreCopy.copy(from: file, to: database) }
                #expect(error?.description.contains("events") == true && error?.description.contains("NUL") == true)
                #expect(try server.sql("SELECT count(*) FROM \(schema).events", database: "mix") == "0")
                file.close()
            }
        }
    }

    @Test func aStoreInUseIsNotCopied() async throws {
        try await withSchema { server, schema in
            let store = try PostgreSQLTaskStore(target(server, schema))
            _ = try await store.register("here", for: .seconds(60))
            let error = #expect(throws: StoreError.self) { try PostgreSQLContents(target(server, schema)) }
            #expect(error?.description.contains("used by the service here") == true)
            await store.close()
        }
    }
}
