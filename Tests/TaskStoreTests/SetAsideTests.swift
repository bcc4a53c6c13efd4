import Foundation
import GRDB
import LayoutEngine
import MixModel
import Synchronization
import Testing

@testable import TaskStore

/// An unreadable row affects nothing but itself.
@Suite struct SetAsideTests {
    /// The unreadable rows that the store has reported.
    private final class Told: Sendable {
        private let state = Mutex<[UnreadableRow]>([])
        var rows: [UnreadableRow] { state.withLock { $0 } }
        func append(_ row: UnreadableRow) { state.withLock { $0.append(row) } }
    }

    private func message(_ id: String, lane: String) -> OutboxMessage {
        OutboxMessage(id: id, subscription: "sub", lane: lane, topic: .test, body: [1])
    }

    /// Fills a store, closes it and runs SQL on its file.
    private func damaged(_ path: String, _ sql: String...) async throws {
        let store = try SQLiteTaskStore(path: path)
        let subscription = Subscription(id: "sub", app: "default", kind: .own, url: "http://127.0.0.1/", createdAt: 1)
        _ = try await store.commit(StoreChange(subscription: .put(subscription, expected: 0)))
        for name in ["a", "b", "c"] {
            let room = RoomID(name)
            let task = TaskID.automatic(for: room)
            let number = name == "a" ? 1 : name == "b" ? 2 : 3
            _ = try await store.commit(
                StoreChange(
                    event: event(name, room: room), room: .put(Room(id: room), expected: 0),
                    tasks: [
                        .init(
                            id: task, write: .put(TaskMachine(id: task, room: room), expected: 0),
                            timeline: [StampedEntry(at: 1, entry: TimelineEntry(kind: .event, message: name))])
                    ],
                    layoutVersion: NewLayoutVersion(layout: "l", number: number, at: 1, origin: .api, content: [7]),
                    outbox: [message(name + "1", lane: name), message(name + "2", lane: name)]))
        }
        await store.close()
        let queue = try DatabaseQueue(path: path)
        for statement in sql { try await queue.write { try $0.execute(sql: statement) } }
        try queue.close()
    }

    @Test(arguments: [
        "document = '{\"half'", "document = '[]'", "document = x'FF00FE'", "document = ''", "version = 'many'",
        "version = x'FF'", "version = 9223372036854775807", "version = -3",
    ])
    func aDocumentThatCannotBeReadIsSetAside(_ damage: String) async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            try await damaged(
                path, "UPDATE rooms SET \(damage) WHERE id = 'a'", "UPDATE tasks SET \(damage) WHERE id = 'auto-b'")
            let told = Told()
            let store = try SQLiteTaskStore(path: path, onUnreadable: told.append)
            #expect(try await store.rooms().map(\.document.id) == ["b", "c"])
            #expect(try await store.tasks().map(\.document.id) == ["auto-a", "auto-c"])
            #expect(try await store.room("a") == nil)
            #expect(try await store.tasks(of: "b").isEmpty)
            #expect(told.rows.map(\.table).sorted() == ["rooms", "tasks"])
            #expect(told.rows.map(\.id).sorted() == ["a", "auto-b"])
            #expect(told.rows.allSatisfy { $0.isSetAside && $0.advice(path).contains(path) })
            // The room starts anew, and its old row is kept.
            _ = try await store.commit(
                StoreChange(
                    room: .put(Room(id: "a"), expected: 0),
                    tasks: [.init(id: "auto-b", write: .put(TaskMachine(id: "auto-b", room: "b"), expected: 0))]))
            #expect(try await store.room("a")?.version == 1)
            let kept = try await store.read {
                try String.fetchAll($0, sql: "SELECT source FROM set_aside ORDER BY source")
            }
            #expect(kept == ["rooms", "tasks"])
            await store.close()
        }
    }

    @Test func theLayoutVersionBeforeIsTheNewestThen() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            try await damaged(path, "UPDATE layout_versions SET document = 'x' WHERE number > 1")
            let store = try SQLiteTaskStore(path: path)
            #expect(try await store.newestLayoutVersions().map(\.number) == [1])
            #expect(try await store.layoutVersions(of: "l", limit: 9).map(\.number) == [1])
            let content = try await store.read { try Data.fetchAll($0, sql: "SELECT content FROM set_aside") }
            #expect(content == [Data([7]), Data([7])])
            await store.close()
        }
    }

    @Test func linesOfLogsArePassedOver() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            try await damaged(
                path, "UPDATE timeline SET document = x'00' WHERE task = 'auto-a'",
                "UPDATE events SET document = 'x' WHERE id = 'a'")
            let told = Told()
            let store = try SQLiteTaskStore(path: path, onUnreadable: told.append)
            for _ in 0..<3 {
                #expect(try await store.timeline(of: "auto-a", limit: 9).isEmpty)
                #expect(try await store.timeline(of: "auto-b", limit: 9).count == 1)
                #expect(try await store.events(of: "a", limit: 9).isEmpty)
            }
            #expect(try await store.commit(StoreChange(event: event("a", room: "a"))) == .duplicate)
            #expect(told.rows.map(\.table) == ["timeline", "events"], "once each")
            await store.close()
        }
    }

    @Test(arguments: [
        "queued = 'x'", "queued = -1e300", "due = 'soon'", "attempts = -5", "attempts = 9223372036854775807",
        "body = NULL",
    ])
    func aMessageThatCannotBeReadHoldsUpNobody(_ damage: String) async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            try await damaged(
                path, "CREATE TABLE o AS SELECT * FROM outbox", "DROP TABLE outbox", "ALTER TABLE o RENAME TO outbox",
                "UPDATE outbox SET \(damage) WHERE id = 'a1'")
            let store = try SQLiteTaskStore(path: path)
            let first = try await store.takeMessages(of: "sub", limit: 9, lease: .seconds(9))
            let second = try await store.takeMessages(of: "sub", limit: 9, lease: .seconds(9))
            #expect((first.items + second.items).map(\.message.id).sorted() == ["a2", "b1", "c1"])
            #expect(first.next == .zero, "the message behind it is due")
            _ = try await store.deliveries(of: "sub", state: nil, lane: nil, before: nil, limit: 99)
            // It is the first dead letter now.
            try await store.settle(try #require(first.items.first), .givenUp, attempt: nil)
            #expect(try await store.sendDeadLettersAgain(of: "sub", limit: 9) > 0)
            await store.close()
        }
    }
}
