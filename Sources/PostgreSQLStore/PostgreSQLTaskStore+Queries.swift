import MixModel
import TaskStore

extension PostgreSQLTaskStore {
    public func room(_ id: RoomID) async throws(StoreError) -> Versioned<Room>? {
        let found: [Versioned<Room>] = try await documents("rooms WHERE id = $1", [.text(id.rawValue)])
        return found.first
    }
    public func rooms() async throws(StoreError) -> [Versioned<Room>] { try await documents("rooms ORDER BY id") }
    public func task(_ id: TaskID) async throws(StoreError) -> Versioned<TaskMachine>? {
        let found: [Versioned<TaskMachine>] = try await documents("tasks WHERE id = $1", [.text(id.rawValue)])
        return found.first
    }
    public func tasks() async throws(StoreError) -> [Versioned<TaskMachine>] {
        try await documents("tasks ORDER BY id")
    }

    public func timeline(of task: TaskID, limit: Int) async throws(StoreError) -> [StampedEntry] {
        try await list("timeline", "WHERE task = $1 ORDER BY number DESC LIMIT $2", task.rawValue, limit)
    }
    public func switches(of task: TaskID, limit: Int) async throws(StoreError) -> [SwitchRecord] {
        try await list("switches", "WHERE task = $1 ORDER BY number DESC LIMIT $2", task.rawValue, limit)
    }
    public func events(of room: RoomID, limit: Int) async throws(StoreError) -> [RoomEvent] {
        try await list("events", "WHERE room = $1 ORDER BY number LIMIT $2", room.rawValue, limit)
    }

    public func newestLayoutVersions() async throws(StoreError) -> [LayoutVersion] {
        let statement = """
            SELECT DISTINCT ON (layout) number, layout, document FROM layout_versions ORDER BY layout, number DESC
            """
        return try await readable("layout_versions", statement, []) { try Self.value(LayoutVersion.self, $0) }
    }
    public func layoutVersions(of layout: String, limit: Int) async throws(StoreError) -> [LayoutVersion] {
        try await list("layout_versions", "WHERE layout = $1 ORDER BY number DESC LIMIT $2", layout, limit)
    }
    public func layoutContent(of layout: String, version: Int) async throws(StoreError) -> [UInt8]? {
        try await read { connection in
            try connection.execute(
                "SELECT content FROM layout_versions WHERE layout = $1 AND number = $2",
                [.text(layout), .integer(Int64(version))]
            ).rows.first?.bytes("content")
        }
    }
    public func layoutEvents(of layout: String, limit: Int) async throws(StoreError) -> [LayoutEvent] {
        try await list("layout_events", "WHERE layout = $1 ORDER BY number DESC LIMIT $2", layout, limit)
    }

    private func list<Value: Decodable & Sendable>(
        _ table: String, _ conditions: String, _ key: String, _ limit: Int
    ) async throws(StoreError) -> [Value] {
        let columns = (DocumentTables.key(of: table) + ["document"]).joined(separator: ", ")
        return try await readable(
            table, "SELECT \(columns) FROM \(table) \(conditions)", [.text(key), .integer(Int64(limit))]
        ) { try Self.value(Value.self, $0) }
    }
}

// MARK: - Rooms

extension PostgreSQLTaskStore {
    public func tasks(of room: RoomID) async throws(StoreError) -> [Versioned<TaskMachine>] {
        try await documents("tasks WHERE room = $1 ORDER BY id", [.text(room.rawValue)])
    }
    public func activeTasks() async throws(StoreError) -> [Versioned<TaskMachine>] {
        try await documents("tasks WHERE active = 1 ORDER BY id")
    }
    public func rooms(after id: RoomID?, limit: Int) async throws(StoreError) -> [Versioned<Room>] {
        try await documents(
            "rooms WHERE id > $1 ORDER BY id LIMIT $2", [.text(id?.rawValue ?? ""), .integer(Int64(limit))])
    }
    public func roomsWithTasks(after id: RoomID?, limit: Int) async throws(StoreError) -> [RoomID] {
        try await read { connection in
            try connection.execute(
                "SELECT DISTINCT room FROM tasks WHERE room > $1 ORDER BY room LIMIT $2",
                [.text(id?.rawValue ?? ""), .integer(Int64(limit))]
            ).rows.map { RoomID(try $0.text("room")) }
        }
    }
    public func roomsOfTasks() async throws(StoreError) -> [TaskID: RoomID] {
        try await read { connection in
            let pairs = try connection.execute("SELECT id, room FROM tasks").rows.map { row in
                (TaskID(try row.text("id")), RoomID(try row.text("room")))
            }
            return Dictionary(pairs) { first, _ in first }
        }
    }

    public func rooms(
        of life: RoomLife, after number: Int64, limit: Int
    ) async throws(StoreError) -> [NumberedRoom] {
        try await readable(
            "rooms",
            "SELECT number, id, document FROM rooms WHERE live = $1 AND number > $2 ORDER BY number LIMIT $3",
            [.integer(Int64(life.rawValue)), .integer(number), .integer(Int64(limit))]
        ) { NumberedRoom(number: try $0.integer("number"), room: try Self.value(Room.self, $0)) }
    }

    public func counts() async throws(StoreError) -> (rooms: Int, tasks: Int) {
        try await read { connection in
            let found = try connection.execute(
                "SELECT (SELECT count(*) FROM rooms) AS rooms, (SELECT count(*) FROM tasks) AS tasks")
            return (
                Int(clamping: try found.rows.first?.integer("rooms") ?? 0),
                Int(clamping: try found.rows.first?.integer("tasks") ?? 0)
            )
        }
    }

    public func usage() async throws(StoreError) -> [AppID: StoredUsage] {
        try await read { connection in
            let rows = try connection.execute(
                """
                SELECT CASE strpos(id, '/') WHEN 0 THEN '\(AppID.standard)' ELSE split_part(id, '/', 1) END AS app,
                    count(*) AS rooms, sum(octet_length(document)) AS bytes
                FROM rooms GROUP BY 1
                """
            ).rows
            return try rows.reduce(into: [:]) { usage, row in
                usage[AppID(try row.text("app"))] = StoredUsage(
                    rooms: Int(clamping: try row.integer("rooms")), bytes: Int(clamping: try row.integer("bytes")))
            }
        }
    }

    public func rooms(naming layout: String, of app: AppID?, limit: Int) async throws(StoreError) -> [RoomID] {
        try await read { connection in
            try RoomWalk.rooms(of: app, limit: limit) { place, end, limit in
                try connection.execute(
                    """
                    SELECT id FROM rooms
                    WHERE layout = $1 AND id > $2 AND ($3::text IS NULL OR id < $3) ORDER BY id LIMIT $4
                    """, [.text(layout), .text(place), .text(end), .integer(Int64(limit))]
                ).rows.map { RoomID(try $0.text("id")) }
            }
        }
    }
}
