import Foundation
import GRDB
import MixModel
import Testing

@testable import TaskStore

/// Databases of earlier versions are migrated with all their contents.
@Suite struct MigrationTests {
    /// The schema of the second version, without rows.
    private static let secondSchema = """
        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
        INSERT INTO grdb_migrations VALUES ('1 rooms, tasks, events, timeline'), ('2 versions and events of layouts');
        CREATE TABLE rooms (
            id TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL, document TEXT NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE tasks (
            id TEXT PRIMARY KEY NOT NULL, room TEXT NOT NULL, version INTEGER NOT NULL,
            document TEXT NOT NULL
        ) WITHOUT ROWID;
        CREATE TABLE events (
            number INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL, id TEXT NOT NULL,
            room TEXT NOT NULL, type TEXT NOT NULL, document TEXT NOT NULL,
            UNIQUE (source, id)
        );
        CREATE INDEX events_of_room ON events (room, number);
        CREATE TABLE timeline (
            number INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT NOT NULL, document TEXT NOT NULL
        );
        CREATE INDEX timeline_of_task ON timeline (task, number);
        CREATE TABLE switches (
            number INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT NOT NULL, document TEXT NOT NULL
        );
        CREATE INDEX switches_of_task ON switches (task, number);
        CREATE TABLE layout_versions (
            layout TEXT NOT NULL, number INTEGER NOT NULL, document TEXT NOT NULL, content BLOB NOT NULL,
            PRIMARY KEY (layout, number)
        );
        CREATE TABLE layout_events (
            number INTEGER PRIMARY KEY AUTOINCREMENT, layout TEXT NOT NULL, document TEXT NOT NULL
        );
        CREATE INDEX layout_events_of_layout ON layout_events (layout, number);
        """

    @Test func aStoreOfTheSecondVersionIsTakenOver() async throws {
        try await withDirectory { directory in
            let path = directory + "/store.sqlite"
            let old = try DatabaseQueue(path: path)
            var room = Room(id: "demo")
            _ = RoomMachine.apply(event("1"), to: &room)
            let task = TaskMachine(id: "auto-demo", room: "demo")
            let entry = StampedEntry(at: 3, entry: TimelineEntry(kind: .event, message: "hello"))
            func json(_ value: some Encodable) throws -> String {
                String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
            }
            let other = event("2", room: RoomID(app: "shop", name: "demo"))
            let (roomText, taskText, eventText, entryText) = try (json(room), json(task), json(event("1")), json(entry))
            let otherText = try json(other)
            try await old.write { db in
                try db.execute(sql: Self.secondSchema)
                try db.execute(sql: "INSERT INTO rooms VALUES ('demo', 4, ?)", arguments: [roomText])
                try db.execute(sql: "INSERT INTO tasks VALUES ('auto-demo', 'demo', 9, ?)", arguments: [taskText])
                try db.execute(
                    sql: "INSERT INTO events VALUES (17, 'app', '1', 'demo', 'stream.published', ?)",
                    arguments: [eventText])
                // This event belongs to another app.
                try db.execute(
                    sql: "INSERT INTO events VALUES (18, 'app', '2', 'shop/demo', 'stream.published', ?)",
                    arguments: [otherText])
                try db.execute(sql: "INSERT INTO timeline VALUES (3, 'auto-demo', ?)", arguments: [entryText])
            }
            try old.close()

            let time = ManualClock()
            time.advance(Date().timeIntervalSince1970 - 1_700_000_000)
            let store = try SQLiteTaskStore(path: path, clock: time.clock)
            #expect(try await store.room("demo") == Versioned(room, version: 4))
            #expect(try await store.task("auto-demo") == Versioned(task, version: 9))
            #expect(try await store.timeline(of: "auto-demo", limit: 9) == [entry])
            #expect(try await store.events(of: "demo", limit: 9) == [event("1")])
            #expect(try await store.commit(StoreChange(event: event("1"))) == .duplicate)
            #expect(try await store.events(of: "shop/demo", limit: 9) == [other])
            #expect(try await store.commit(StoreChange(event: other)) == .duplicate)
            #expect(try await store.commit(StoreChange(event: event("2"))) == .committed)
            // Events from before the migration are kept as long as new ones.
            #expect(try await store.removeExpired() == 0)
            time.advance(Retention().eventAge + 60)
            #expect(try await store.removeExpired() == 3)
            try await store.commit(ChannelChange(of: "demo", document: "{}", kept: 9))
            #expect(try await store.channel(of: "demo", limit: 9).document == "{}")
            let node = try await store.register("here", for: .seconds(10))
            #expect(try await store.claimAvailable(by: node, limit: 9, for: .seconds(10)).map(\.task) == ["auto-demo"])
            await store.close()
        }
    }
}
