import Foundation
import GRDB
import MixModel

/// The tables and their migrations. Migrations are only ever appended.
enum SQLiteSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 rooms, tasks, events, timeline") { db in
            try db.execute(
                sql: """
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
                    """)
        }
        migrator.registerMigration("2 versions and events of layouts") { db in
            try db.execute(
                sql: """
                    CREATE TABLE layout_versions (
                        layout TEXT NOT NULL, number INTEGER NOT NULL, document TEXT NOT NULL, content BLOB NOT NULL,
                        PRIMARY KEY (layout, number)
                    );
                    CREATE TABLE layout_events (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, layout TEXT NOT NULL, document TEXT NOT NULL
                    );
                    CREATE INDEX layout_events_of_layout ON layout_events (layout, number);
                    """)
        }
        migrator.registerMigration("3 which rooms and tasks are live") { db in
            // Existing rows count as live until they are written again: some are read needlessly, but none is missed.
            try db.execute(
                sql: """
                    ALTER TABLE rooms ADD COLUMN live INTEGER NOT NULL DEFAULT 1;
                    ALTER TABLE rooms ADD COLUMN layout TEXT;
                    UPDATE rooms SET layout = json_extract(document, '$.settings.layout');
                    ALTER TABLE tasks ADD COLUMN active INTEGER NOT NULL DEFAULT 1;
                    CREATE INDEX rooms_by_life ON rooms (live);
                    CREATE INDEX rooms_by_layout ON rooms (layout) WHERE layout IS NOT NULL;
                    CREATE INDEX tasks_by_activity ON tasks (active);
                    CREATE INDEX tasks_of_room ON tasks (room);
                    """)
        }
        migrator.registerMigration("4 leases, outbox, retention") { db in
            // Existing events count as stored now.
            try db.execute(
                sql: """
                    ALTER TABLE events ADD COLUMN at REAL NOT NULL DEFAULT \(Int(Date().timeIntervalSince1970));
                    CREATE TABLE nodes (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, until REAL NOT NULL
                    );
                    CREATE TABLE leases (
                        task TEXT PRIMARY KEY NOT NULL, owner INTEGER, epoch INTEGER NOT NULL
                    ) WITHOUT ROWID;
                    CREATE INDEX leases_of_owner ON leases (owner) WHERE owner IS NOT NULL;
                    CREATE TABLE outbox (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
                        body BLOB NOT NULL, due REAL NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, settled REAL
                    );
                    CREATE INDEX outbox_due ON outbox (due, number) WHERE settled IS NULL;
                    CREATE INDEX outbox_settled ON outbox (settled) WHERE settled IS NOT NULL;
                    CREATE TABLE removed_tasks (task TEXT PRIMARY KEY NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
                    CREATE INDEX removed_tasks_by_time ON removed_tasks (at);
                    CREATE TABLE probe (id INTEGER PRIMARY KEY, number INTEGER NOT NULL);
                    """)
        }
        migrator.registerMigration("5 each app has its own events") { db in
            // A table's own constraint can only be replaced together with the table.
            try db.execute(
                sql: """
                    CREATE TABLE events_of_apps (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, app TEXT NOT NULL, source TEXT NOT NULL,
                        id TEXT NOT NULL, room TEXT NOT NULL, type TEXT NOT NULL, document TEXT NOT NULL,
                        at REAL NOT NULL,
                        UNIQUE (source, id, app)
                    );
                    INSERT INTO events_of_apps (number, app, source, id, room, type, document, at)
                        SELECT
                            number,
                            CASE instr(room, '/')
                                WHEN 0 THEN '\(AppID.standard)' ELSE substr(room, 1, instr(room, '/') - 1)
                            END,
                            source, id, room, type, document, at
                        FROM events ORDER BY number;
                    DROP TABLE events;
                    ALTER TABLE events_of_apps RENAME TO events;
                    CREATE INDEX events_of_room ON events (room, number);
                    """)
        }
        migrator.registerMigration("6 documents within one page") { db in
            // A table without row numbers spills documents longer than a quarter of a page into a second page, and an
            // index by room adds one more page for each event. The pages that an event writes determine the cost of its
            // sync to disk.
            try db.execute(
                sql: """
                    CREATE TABLE paged_rooms (
                        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL,
                        document TEXT NOT NULL, live INTEGER NOT NULL, layout TEXT
                    );
                    INSERT INTO paged_rooms (id, version, document, live, layout)
                        SELECT id, version, document, live, layout FROM rooms ORDER BY id;
                    DROP TABLE rooms;
                    ALTER TABLE paged_rooms RENAME TO rooms;
                    CREATE INDEX rooms_by_life ON rooms (live);
                    CREATE INDEX rooms_by_layout ON rooms (layout) WHERE layout IS NOT NULL;
                    CREATE TABLE paged_tasks (
                        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, room TEXT NOT NULL,
                        version INTEGER NOT NULL, document TEXT NOT NULL, active INTEGER NOT NULL
                    );
                    INSERT INTO paged_tasks (id, room, version, document, active)
                        SELECT id, room, version, document, active FROM tasks ORDER BY id;
                    DROP TABLE tasks;
                    ALTER TABLE paged_tasks RENAME TO tasks;
                    CREATE INDEX tasks_by_activity ON tasks (active);
                    CREATE INDEX tasks_of_room ON tasks (room);
                    DROP INDEX events_of_room;
                    """)
        }
        migrator.registerMigration("7 subscriptions and their deliveries") { db in
            // The outbox of earlier versions never held a message.
            try db.execute(
                sql: """
                    DROP TABLE outbox;
                    CREATE TABLE subscriptions (
                        id TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL, document TEXT NOT NULL
                    ) WITHOUT ROWID;
                    CREATE TABLE outbox (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, subscription TEXT NOT NULL, id TEXT NOT NULL,
                        lane TEXT NOT NULL, topic TEXT NOT NULL, body BLOB NOT NULL, queued REAL NOT NULL,
                        due REAL, attempts INTEGER NOT NULL DEFAULT 0, earlier INTEGER NOT NULL DEFAULT 0,
                        settled REAL, dead INTEGER NOT NULL DEFAULT 0,
                        UNIQUE (subscription, id)
                    );
                    CREATE INDEX outbox_due ON outbox (subscription, due, number) WHERE due IS NOT NULL;
                    CREATE INDEX outbox_lanes ON outbox (subscription, lane, number) WHERE settled IS NULL;
                    CREATE INDEX outbox_waiting ON outbox (subscription, number) WHERE settled IS NULL;
                    CREATE INDEX outbox_dead ON outbox (subscription, number) WHERE dead = 1;
                    CREATE INDEX outbox_settled ON outbox (settled) WHERE settled IS NOT NULL;
                    CREATE INDEX outbox_of_subscription ON outbox (subscription, number);
                    CREATE TABLE attempts (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, subscription TEXT NOT NULL, message TEXT NOT NULL,
                        at REAL NOT NULL, document TEXT NOT NULL
                    );
                    CREATE INDEX attempts_of_message ON attempts (subscription, message, number);
                    CREATE INDEX attempts_by_time ON attempts (subscription, at);
                    """)
        }
        migrator.registerMigration("8 which rooms a start needs") { db in
            // The same conditions as in `Room.life`. A document that cannot be read is left as it is, and reported when
            // it is read.
            let isBound = """
                (coalesce(json_array_length(document, '$.settings.outputs'), 0) > 0
                    OR json_extract(document, '$.settings.recording') IS NOT NULL
                    OR json_extract(document, '$.settings.hls') IS NOT NULL)
                """
            try db.execute(
                sql: """
                    UPDATE rooms SET live = CASE
                        WHEN live = 1 AND \(isBound) THEN 1
                        WHEN live = 1 AND json_type(document, '$.settings.outputs') IS NULL THEN 2
                        WHEN live = 0
                            AND (\(isBound) OR json_extract(document, '$.settings.program') IS NOT NULL) THEN 3
                        ELSE 0
                    END WHERE json_valid(document);
                    DROP INDEX rooms_by_layout;
                    CREATE INDEX rooms_by_layout ON rooms (layout, id) WHERE layout IS NOT NULL;
                    """)
        }
        migrator.registerMigration("9 what nodes tell") { db in
            try db.execute(sql: "ALTER TABLE nodes ADD COLUMN profile TEXT")
        }
        migrator.registerMigration("10 channels of rooms") { db in
            // A migration that replaces the table of rooms must recreate the trigger.
            try db.execute(
                sql: """
                    CREATE TABLE channel_messages (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, room TEXT NOT NULL, id INTEGER NOT NULL,
                        document TEXT NOT NULL, at REAL NOT NULL,
                        UNIQUE (room, id)
                    );
                    CREATE TABLE channels (room TEXT PRIMARY KEY NOT NULL, document TEXT NOT NULL) WITHOUT ROWID;
                    CREATE TRIGGER forget_channel AFTER DELETE ON rooms BEGIN
                        DELETE FROM channel_messages WHERE room = OLD.id;
                        DELETE FROM channels WHERE room = OLD.id;
                    END;
                    """)
        }
        return migrator
    }
}
