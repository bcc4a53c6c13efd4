import Foundation
import GRDB
import MixModel

/// The embedded store: one SQLite file in WAL mode, synced to disk at every commit.
public final class SQLiteTaskStore: TaskStore {
    private let pool: DatabasePool
    private let path: String

    /// Opens the file, or creates it (readable for this user alone: events hold pull URLs), and brings its tables up to
    /// date. Blocks; meant for start-up.
    ///
    /// - Throws: `notWritable`, `corrupt`, `tooNew` or `full`, in words for the operator.
    public init(path: String) throws(StoreError) {
        self.path = path
        do {
            if !FileManager.default.fileExists(atPath: path) {
                guard
                    FileManager.default.createFile(
                        atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
                else { throw StoreError.notWritable(path: path, reason: String(cString: strerror(errno))) }
            }
            guard FileManager.default.isWritableFile(atPath: path) else {
                throw StoreError.notWritable(path: path, reason: "permission denied")
            }
            var configuration = Configuration()
            configuration.busyMode = .timeout(5)
            configuration.label = "store"
            pool = try DatabasePool(path: path, configuration: configuration)
            // GRDB asks for NORMAL, which may lose the last commits at a power failure.
            try pool.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = FULL") }
            let migrator = SQLiteSchema.migrator
            if try pool.read(migrator.hasBeenSuperseded) { throw StoreError.tooNew(path: path) }
            try migrator.migrate(pool)
        } catch let error as StoreError {
            throw error
        } catch {
            throw Self.storeError(error, path: path)
        }
    }

    public func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult {
        try await perform { pool in
            // A change without an event cannot be a duplicate and needs no savepoint of its own.
            try await pool.write { db in
                if let event = change.event, try !Self.append(event, db) { return .duplicate }
                try Self.write(
                    change.room, table: "rooms", id: { $0.id.rawValue },
                    [("live", { $0.isLive }), ("layout", { $0.settings.layout })], db)
                for task in change.tasks {
                    try Self.write(
                        task.write, table: "tasks", id: { $0.id.rawValue },
                        [("room", { $0.room.rawValue }), ("active", { $0.isActive })], db)
                    let owner = ("task", task.id.rawValue)
                    try Self.append(
                        task.timeline, to: "timeline", of: owner, keeping: Retention.timelineEntries, db)
                    try Self.append(task.switches, to: "switches", of: owner, keeping: Retention.switches, db)
                }
                if let new = change.layoutVersion { try Self.append(new, db) }
                if let event = change.layoutEvent {
                    try Self.append(
                        [event], to: "layout_events", of: ("layout", event.layout), keeping: Retention.layoutEvents,
                        db)
                }
                return .committed
            }
        }
    }

    public func room(_ id: RoomID) async throws(StoreError) -> Versioned<Room>? {
        let found: [Versioned<Room>] = try await documents("rooms WHERE id = ?", [id.rawValue])
        return found.first
    }
    public func rooms() async throws(StoreError) -> [Versioned<Room>] { try await documents("rooms ORDER BY id") }
    public func task(_ id: TaskID) async throws(StoreError) -> Versioned<TaskMachine>? {
        let found: [Versioned<TaskMachine>] = try await documents("tasks WHERE id = ?", [id.rawValue])
        return found.first
    }
    public func tasks() async throws(StoreError) -> [Versioned<TaskMachine>] {
        try await documents("tasks ORDER BY id")
    }

    public func timeline(of task: TaskID, limit: Int) async throws(StoreError) -> [StampedEntry] {
        try await list(
            "SELECT document FROM timeline WHERE task = ? ORDER BY number DESC LIMIT ?", task.rawValue, limit)
    }
    public func switches(of task: TaskID, limit: Int) async throws(StoreError) -> [SwitchRecord] {
        try await list(
            "SELECT document FROM switches WHERE task = ? ORDER BY number DESC LIMIT ?", task.rawValue, limit)
    }
    public func events(of room: RoomID, limit: Int) async throws(StoreError) -> [RoomEvent] {
        try await list("SELECT document FROM events WHERE room = ? ORDER BY number LIMIT ?", room.rawValue, limit)
    }

    public func newestLayoutVersions() async throws(StoreError) -> [LayoutVersion] {
        try await perform { pool in
            try await pool.read { db in
                // SQLite takes the other columns from the row that has the maximum.
                try Row.fetchAll(
                    db, sql: "SELECT max(number), document FROM layout_versions GROUP BY layout ORDER BY layout"
                ).map { try Self.value(LayoutVersion.self, $0["document"]) }
            }
        }
    }
    public func layoutVersions(of layout: String, limit: Int) async throws(StoreError) -> [LayoutVersion] {
        try await list(
            "SELECT document FROM layout_versions WHERE layout = ? ORDER BY number DESC LIMIT ?", layout, limit)
    }
    public func layoutContent(of layout: String, version: Int) async throws(StoreError) -> [UInt8]? {
        try await perform { pool in
            try await pool.read { db in
                try Data.fetchOne(
                    db, sql: "SELECT content FROM layout_versions WHERE layout = ? AND number = ?",
                    arguments: [layout, version]
                ).map { [UInt8]($0) }
            }
        }
    }
    public func layoutEvents(of layout: String, limit: Int) async throws(StoreError) -> [LayoutEvent] {
        try await list(
            "SELECT document FROM layout_events WHERE layout = ? ORDER BY number DESC LIMIT ?", layout, limit)
    }

    /// The writer's `PRAGMA synchronous`: 2 when every commit reaches the disk.
    func synchronousSetting() async throws(StoreError) -> Int? {
        try await perform { pool in
            try await pool.write { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
        }
    }

    public func close() async {
        try? pool.close()
    }
}

// MARK: - Statements

extension SQLiteTaskStore {
    /// False when the event was there before.
    private static func append(_ event: RoomEvent, _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "INSERT INTO events (source, id, room, type, document) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")
        try statement.execute(
            arguments: [event.source, event.id, event.room.rawValue, event.type, try json(event)])
        return db.changesCount == 1
    }

    private static func append<Row: Encodable>(
        _ rows: [Row], to table: String, of owner: (column: String, id: String), keeping limit: Int, _ db: Database
    ) throws {
        let insertion = try db.cachedStatement(
            sql: "INSERT INTO \(table) (\(owner.column), document) VALUES (?, ?)")
        for row in rows {
            try insertion.execute(arguments: [owner.id, try json(row)])
            // Now and then is enough, and cheaper.
            guard db.lastInsertedRowID % 64 == 0 else { continue }
            try db.execute(
                sql: """
                    DELETE FROM \(table) WHERE \(owner.column) = ?1 AND number <= (
                        SELECT number FROM \(table) WHERE \(owner.column) = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)
                    """, arguments: [owner.id, limit])
        }
    }

    private static func append(_ new: NewLayoutVersion, _ db: Database) throws {
        let (layout, number) = (new.version.layout, new.version.number)
        try db.cachedStatement(
            sql: """
                INSERT INTO layout_versions (layout, number, document, content)
                SELECT ?1, ?2, ?3, ?4
                WHERE ?2 > coalesce((SELECT max(number) FROM layout_versions WHERE layout = ?1), 0)
                """
        ).execute(arguments: [layout, number, try json(new.version), Data(new.content)])
        guard db.changesCount == 1 else { throw StoreError.conflict(document: "layout \(layout)") }
        try db.cachedStatement(
            sql: """
                DELETE FROM layout_versions WHERE layout = ?1 AND number <= (
                    SELECT number FROM layout_versions WHERE layout = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)
                """
        ).execute(arguments: [layout, Retention.layoutVersions])
    }

    private static func write<Document: Encodable>(
        _ write: StoreChange.Write<Document>?, table: String, id: (Document) -> String,
        _ columns: [(name: String, value: (Document) -> (any DatabaseValueConvertible)?)], _ db: Database
    ) throws {
        let key: String
        switch write {
        case nil:
            return
        case .put(let document, let expected):
            key = id(document)
            let text = try json(document)
            let values = StatementArguments(columns.map { $0.value(document) })
            let names = columns.map(\.name)
            if expected == 0 {
                let marks = names.map { _ in ", ?" }.joined()
                try db.cachedStatement(
                    sql: """
                        INSERT INTO \(table) (id, version, document, \(names.joined(separator: ", ")))
                        VALUES (?, 1, ?\(marks)) ON CONFLICT DO NOTHING
                        """
                ).execute(arguments: [key, text] + values)
            } else {
                let changes = names.map { "\($0) = ?, " }.joined()
                try db.cachedStatement(
                    sql:
                        "UPDATE \(table) SET \(changes)version = version + 1, document = ? WHERE id = ? AND version = ?"
                ).execute(arguments: values + [text, key, expected])
            }
        case .delete(let id, let expected):
            key = id
            try db.cachedStatement(sql: "DELETE FROM \(table) WHERE id = ? AND version = ?")
                .execute(arguments: [id, expected])
        }
        guard db.changesCount == 1 else { throw StoreError.conflict(document: key) }
    }

    /// - Parameter selection: What follows FROM.
    func documents<Document: Decodable & Hashable & Sendable>(
        _ selection: String, _ arguments: StatementArguments = []
    ) async throws(StoreError) -> [Versioned<Document>] {
        try await perform { pool in
            try await pool.read { db in
                let rows = try Row.fetchAll(
                    db, sql: "SELECT version, document FROM \(selection)", arguments: arguments)
                return try rows.map { row in
                    Versioned(try Self.value(Document.self, row["document"]), version: row["version"])
                }
            }
        }
    }

    private func list<Value: Decodable & Sendable>(
        _ sql: String, _ key: String, _ limit: Int
    ) async throws(StoreError) -> [Value] {
        try await perform { pool in
            try await pool.read { db in
                try String.fetchAll(db, sql: sql, arguments: [key, limit]).map { try Self.value(Value.self, $0) }
            }
        }
    }

    private static func json(_ value: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }

    private static func value<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
        try JSONDecoder().decode(type, from: Data(text.utf8))
    }

    func perform<Value: Sendable>(
        _ body: (DatabasePool) async throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try await body(pool)
        } catch let error as StoreError {
            throw error
        } catch {
            throw Self.storeError(error, path: path)
        }
    }

    private static func storeError(_ error: any Error, path: String) -> StoreError {
        guard let error = error as? DatabaseError else {
            return error is DecodingError
                ? .corrupt(path: path, reason: "a document cannot be read: \(error)") : .engine("\(error)")
        }
        let reason = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
        return switch error.resultCode {
        case .SQLITE_NOTADB, .SQLITE_CORRUPT: .corrupt(path: path, reason: reason)
        case .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM: .notWritable(path: path, reason: reason)
        case .SQLITE_FULL: .full(path: path)
        default: .engine(reason)
        }
    }
}
