import GRDB
import MixModel

extension SQLiteTaskStore {
    public func tasks(of room: RoomID) async throws(StoreError) -> [Versioned<TaskMachine>] {
        try await documents("tasks WHERE room = ? ORDER BY id", [room.rawValue])
    }
    public func activeTasks() async throws(StoreError) -> [Versioned<TaskMachine>] {
        try await documents("tasks WHERE active = 1 ORDER BY id")
    }
    public func rooms(after id: RoomID?, limit: Int) async throws(StoreError) -> [Versioned<Room>] {
        try await documents("rooms WHERE id > ? ORDER BY id LIMIT ?", [id?.rawValue ?? "", limit])
    }
    public func roomsWithTasks(after id: RoomID?, limit: Int) async throws(StoreError) -> [RoomID] {
        try await read { db in
            try String.fetchAll(
                db, sql: "SELECT DISTINCT room FROM tasks WHERE room > ? ORDER BY room LIMIT ?",
                arguments: [id?.rawValue ?? "", limit]
            ).map { RoomID($0) }
        }
    }
    public func roomsOfTasks() async throws(StoreError) -> [TaskID: RoomID] {
        try await read { db in
            // Unreadable rows are skipped here; they are set aside when their task is read.
            let pairs = try Row.fetchAll(db, sql: "SELECT id, room FROM tasks").compactMap { row in
                try? (TaskID(row.value("id")), RoomID(row.value("room")))
            }
            return Dictionary(pairs) { first, _ in first }
        }
    }

    public func rooms(
        of life: RoomLife, after number: Int64, limit: Int
    ) async throws(StoreError) -> [NumberedRoom] {
        // The index holds the row numbers in order.
        try await readable(
            "rooms",
            sql: "SELECT number, id, document FROM rooms WHERE live = ? AND number > ? ORDER BY number LIMIT ?",
            [life.rawValue, number, limit]
        ) { NumberedRoom(number: try $0.value("number"), room: try Self.value(Room.self, $0)) }
    }

    public func counts() async throws(StoreError) -> (rooms: Int, tasks: Int) {
        try await read { db in
            // The indices are smaller than the tables, which contain the documents.
            let rooms = try Int.fetchOne(db, sql: "SELECT count(*) FROM rooms INDEXED BY rooms_by_life")
            let tasks = try Int.fetchOne(db, sql: "SELECT count(*) FROM tasks INDEXED BY tasks_by_activity")
            return (rooms ?? 0, tasks ?? 0)
        }
    }

    public func usage() async throws(StoreError) -> [AppID: StoredUsage] {
        try await read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT
                        CASE instr(id, '/') WHEN 0 THEN '\(AppID.standard)' ELSE substr(id, 1, instr(id, '/') - 1) END
                            AS app,
                        count(*) AS rooms, sum(length(CAST(document AS BLOB))) AS bytes
                    FROM rooms GROUP BY 1
                    """)
            return rows.reduce(into: [:]) { usage, row in
                guard let app: String = try? row.value("app"), let rooms: Int = try? row.value("rooms"),
                    let bytes: Int = try? row.value("bytes")
                else { return }
                usage[AppID(app)] = StoredUsage(rooms: rooms, bytes: bytes)
            }
        }
    }

    public func rooms(naming layout: String, of app: AppID?, limit: Int) async throws(StoreError) -> [RoomID] {
        try await read { db in
            try RoomWalk.rooms(of: app, limit: limit) { place, end, limit in
                try String.fetchAll(
                    db,
                    sql: """
                        SELECT id FROM rooms
                        WHERE layout = ?1 AND id > ?2 AND (?3 IS NULL OR id < ?3) ORDER BY id LIMIT ?4
                        """, arguments: [layout, place, end, limit]
                ).map { RoomID($0) }
            }
        }
    }
}
