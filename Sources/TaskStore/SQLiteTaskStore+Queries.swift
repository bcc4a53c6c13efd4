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

    /// A text that sorts after every name: it consists of the last scalar and is longer than any name, which has at
    /// most 128 bytes.
    private static let behindAllNames = String(repeating: "\u{10FFFF}", count: 33)

    public func rooms(naming layout: String, of app: AppID?, limit: Int) async throws(StoreError) -> [RoomID] {
        try await read { db in
            var found: [RoomID] = []
            // `0` follows `/`, so the rooms of one app lie between the two. Only the standard app's rooms lie between
            // those of others.
            let isStandard = app == .standard
            let end = isStandard || app == nil ? nil : app.map { "\($0)0" }
            var place = isStandard || app == nil ? "" : app.map { "\($0)/" } ?? ""
            while found.count < limit {
                let page = try String.fetchAll(
                    db,
                    sql: """
                        SELECT id FROM rooms
                        WHERE layout = ?1 AND id > ?2 AND (?3 IS NULL OR id < ?3) ORDER BY id LIMIT ?4
                        """, arguments: [layout, place, end, limit - found.count]
                ).map { RoomID($0) }
                guard let last = page.last else { break }
                place = last.rawValue
                for room in page {
                    if isStandard, room.app != .standard {
                        place = "\(room.app)/" + Self.behindAllNames
                        break
                    }
                    found.append(room)
                }
            }
            return found
        }
    }
}
