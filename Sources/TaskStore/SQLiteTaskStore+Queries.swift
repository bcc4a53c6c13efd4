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
            // What cannot be read is set aside when the task is.
            let pairs = try Row.fetchAll(db, sql: "SELECT id, room FROM tasks").compactMap { row in
                try? (TaskID(row.value("id")), RoomID(row.value("room")))
            }
            return Dictionary(pairs) { first, _ in first }
        }
    }

    public func liveRooms() async throws(StoreError) -> [RoomID] {
        try await read { db in
            try String.fetchAll(db, sql: "SELECT id FROM rooms WHERE live = 1 ORDER BY id").map { RoomID($0) }
        }
    }

    public func counts() async throws(StoreError) -> (rooms: Int, tasks: Int) {
        try await read { db in
            // The indices are smaller than the tables, which hold the documents.
            let rooms = try Int.fetchOne(db, sql: "SELECT count(*) FROM rooms INDEXED BY rooms_by_life")
            let tasks = try Int.fetchOne(db, sql: "SELECT count(*) FROM tasks INDEXED BY tasks_by_activity")
            return (rooms ?? 0, tasks ?? 0)
        }
    }

    public func roomsNamingLayouts() async throws(StoreError) -> [String: [RoomID]] {
        try await read { db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT layout, id FROM rooms WHERE layout IS NOT NULL ORDER BY layout, id")
            return rows.reduce(into: [:]) { rooms, row in
                guard let layout: String = try? row.value("layout"), let id: String = try? row.value("id") else {
                    return
                }
                rooms[layout, default: []].append(RoomID(id))
            }
        }
    }
}
