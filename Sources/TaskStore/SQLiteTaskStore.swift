import Foundation
import GRDB
import MixModel

/// The embedded store: one SQLite file in WAL mode. Changes that arrive together share one transaction and one sync to
/// disk.
public final class SQLiteTaskStore: TaskStore {
    private let pool: DatabasePool
    private let path: String
    private let writer: GroupWriter
    private let checkpointer: Checkpointer
    private let expiry: Expiry
    let setAside: SetAside
    /// Timer that removes expired rows. `init` starts it and `close` cancels it; both are safe from any thread.
    private nonisolated(unsafe) let housekeeping: any DispatchSourceTimer

    /// Interval at which an idle store removes expired rows, in seconds.
    private static let housekeepingInterval = 30

    /// Opens the file, creating it if necessary, and brings its tables up to date.
    ///
    /// A new file is readable by this user only, because events contain pull URLs. The call blocks; it is intended for
    /// start-up.
    ///
    /// - Parameters:
    ///   - clock: The clock for leases, retention and due messages.
    ///   - onCommit: Called after every group of changes, on the writer's queue; must be quick.
    ///   - onUnreadable: Called with each row that cannot be read.
    /// - Throws: `notWritable`, `corrupt`, `tooNew`, `full`, `unreadable`, or `engine` if another program holds the
    ///   file. The messages are for operators.
    public init(
        path: String, clock: StoreClock = .system, retention: Retention = Retention(),
        onCommit: (@Sendable (GroupCommit) -> Void)? = nil,
        onUnreadable: @escaping @Sendable (UnreadableRow) -> Void = { _ in }
    ) throws(StoreError) {
        self.path = path
        setAside = SetAside(onUnreadable)
        do {
            pool = try Self.open(path)
            checkpointer = try Checkpointer(path: path)
            try pool.writeWithoutTransaction(checkpointer.watch)
        } catch {
            let failure = StoreError(error, path: path)
            // An error at the start is caused by the file, unless another program holds it.
            let isHeld = [.SQLITE_BUSY, .SQLITE_LOCKED].contains((error as? DatabaseError)?.resultCode)
            guard case .engine = failure, !isHeld else { throw failure }
            throw .corrupt(path: path, reason: (error as? DatabaseError)?.message ?? "\(error)")
        }
        expiry = Expiry(retention)
        writer = GroupWriter(
            pool: pool, path: path, clock: clock, checkpointer: checkpointer, expiry: expiry,
            files: StoreFiles(database: path), onCommit: onCommit)
        housekeeping = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
        let interval = Self.housekeepingInterval
        housekeeping.schedule(deadline: .now() + .seconds(interval), repeating: .seconds(interval))
        housekeeping.setEventHandler { [writer, expiry] in Self.removeExpired(writer, expiry) }
        housekeeping.activate()
    }

    private static func open(_ path: String) throws -> DatabasePool {
        if !FileManager.default.fileExists(atPath: path) {
            guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
            else { throw StoreError.notWritable(path: path, reason: String(cString: strerror(errno))) }
        }
        guard FileManager.default.isWritableFile(atPath: path) else {
            throw StoreError.notWritable(path: path, reason: "permission denied")
        }
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.label = "store"
        let pool = try DatabasePool(path: path, configuration: configuration)
        try pool.writeWithoutTransaction { db in
            // GRDB sets NORMAL, which may lose the last commits in a power failure.
            try db.execute(sql: "PRAGMA synchronous = FULL")
            // 16 384 KiB: the tables' inner pages and the ends to which rows are appended.
            try db.execute(sql: "PRAGMA cache_size = -16384")
        }
        let migrator = SQLiteSchema.migrator
        if try pool.read(migrator.hasBeenSuperseded) { throw StoreError.tooNew(path: path) }
        try migrator.migrate(pool)
        return pool
    }

    public func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult {
        let prepared = try Self.prepare(change)
        return try await write { db, time in try prepared.store(db, at: time) }
    }

    public func commit(
        _ change: StoreChange, claiming tasks: [TaskID], by node: NodeID, for duration: Duration
    ) async throws(StoreError) -> (CommitResult, [Lease]) {
        let prepared = try Self.prepare(change)
        return try await write { db, time in
            _ = try SQLiteLeases.renew(node, at: time, until: time + duration.seconds, db)
            let leases = try SQLiteLeases.claim(tasks, by: node, at: time, db)
            if let missing = tasks.first(where: { task in !leases.contains { $0.task == task } }) {
                throw StoreError.fenced("task \(missing)")
            }
            return (try prepared.store(db, at: time), leases)
        }
    }

    private static func prepare(_ change: StoreChange) throws(StoreError) -> PreparedChange {
        do {
            return try PreparedChange(change)
        } catch {
            throw .engine("a document cannot be written: \(error)")
        }
    }

    public func check() async throws(StoreError) {
        let number = Int64.random(in: 0 ... .max)
        try await write { db, _ in
            try db.execute(sql: "INSERT OR REPLACE INTO probe (id, number) VALUES (1, ?)", arguments: [number])
        }
        let found = try await read { db in try Int64.fetchOne(db, sql: "SELECT number FROM probe WHERE id = 1") }
        // Another check may have written its own number in between.
        guard found != nil else { throw .corrupt(path: path, reason: "written data cannot be read back") }
    }

    @discardableResult public func removeExpired() async throws(StoreError) -> Int {
        try await write { [expiry] db, time in try expiry.step(db, at: time) }
    }

    /// Performs one step after another, with other writes between them.
    private static func removeExpired(_ writer: GroupWriter, _ expiry: Expiry) {
        writer.enqueue(
            GroupWriter.Callback { db, time in
                try expiry.step(db, at: time)
            } whenDone: { result in
                if case .success(1...) = result { removeExpired(writer, expiry) }
            })
    }

    public func close() async {
        housekeeping.cancel()
        await writer.close()
        try? pool.close()
        // The last connection moves the log into the file. The pool's readers are not allowed to.
        checkpointer.close()
    }

    /// Returns the writer's `PRAGMA synchronous`: 2 if every commit reaches the disk.
    func synchronousSetting() async throws(StoreError) -> Int? {
        try await write { db, _ in try Int.fetchOne(db, sql: "PRAGMA synchronous") }
    }

    /// Number of writes that wait, not counting those being written.
    public var waiting: Int { writer.waiting }

    /// Limits the file to a number of pages, which simulates a full disk.
    func limit(pages: Int) async {
        await withCheckedContinuation { continuation in
            pool.asyncWriteWithoutTransaction { db in
                try? db.execute(sql: "PRAGMA max_page_count = \(pages)")
                continuation.resume()
            }
        }
    }
}

// MARK: - Reading

extension SQLiteTaskStore {
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
            "timeline", "WHERE task = ? ORDER BY number DESC LIMIT ?", task.rawValue, limit)
    }
    public func switches(of task: TaskID, limit: Int) async throws(StoreError) -> [SwitchRecord] {
        try await list(
            "switches", "WHERE task = ? ORDER BY number DESC LIMIT ?", task.rawValue, limit)
    }
    public func events(of room: RoomID, limit: Int) async throws(StoreError) -> [RoomEvent] {
        try await list("events", "WHERE room = ? ORDER BY number LIMIT ?", room.rawValue, limit)
    }

    public func newestLayoutVersions() async throws(StoreError) -> [LayoutVersion] {
        // SQLite takes the other columns from the row that has the maximum.
        let sql = "SELECT max(number) AS number, layout, document FROM layout_versions GROUP BY layout ORDER BY layout"
        return try await readable("layout_versions", sql: sql, []) { try Self.value(LayoutVersion.self, $0) }
    }
    public func layoutVersions(of layout: String, limit: Int) async throws(StoreError) -> [LayoutVersion] {
        try await list(
            "layout_versions", "WHERE layout = ? ORDER BY number DESC LIMIT ?", layout, limit)
    }
    public func layoutContent(of layout: String, version: Int) async throws(StoreError) -> [UInt8]? {
        try await read { db in
            try Data.fetchOne(
                db, sql: "SELECT content FROM layout_versions WHERE layout = ? AND number = ?",
                arguments: [layout, version]
            ).map { [UInt8]($0) }
        }
    }
    public func layoutEvents(of layout: String, limit: Int) async throws(StoreError) -> [LayoutEvent] {
        try await list(
            "layout_events", "WHERE layout = ? ORDER BY number DESC LIMIT ?", layout, limit)
    }

    private func list<Value: Decodable & Sendable>(
        _ table: String, _ conditions: String, _ key: String, _ limit: Int
    ) async throws(StoreError) -> [Value] {
        let columns = (DocumentTables.key(of: table) + ["document"]).joined(separator: ", ")
        return try await readable(table, sql: "SELECT \(columns) FROM \(table) \(conditions)", [key, limit]) {
            try Self.value(Value.self, $0)
        }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        do {
            return try await pool.read(body)
        } catch {
            throw StoreError(error, path: path)
        }
    }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database, _ time: Double) throws -> Value
    ) async throws(StoreError) -> Value {
        try await writer.write(body)
    }
}

extension StoreError {
    package static let closed = StoreError.engine("the store is closed")

    /// Converts an error of the engine into one for operators.
    init(_ error: any Error, path: String) {
        if let error = error as? StoreError {
            self = error
            return
        }
        guard let error = error as? DatabaseError else {
            self =
                error is DecodingError || error is RowDecodingError
                ? .corrupt(path: path, reason: "stored data cannot be read: \(error)") : .engine("\(error)")
            return
        }
        let reason = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
        self =
            switch error.resultCode {
            case .SQLITE_NOTADB, .SQLITE_CORRUPT: .corrupt(path: path, reason: reason)
            case .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM: .notWritable(path: path, reason: reason)
            case .SQLITE_IOERR: .unreadable(path: path, reason: reason)
            case .SQLITE_FULL: .full(path: path)
            case .SQLITE_ERROR where Self.names(missing: reason): .corrupt(path: path, reason: reason)
            default: .engine("\(reason), in \(path)")
            }
    }

    /// Returns whether the engine reports a missing table, column or index that an intact file has.
    private static func names(missing reason: String) -> Bool {
        ["no such table", "no such column", "no such index"].contains { reason.hasPrefix($0) }
            || reason.contains("has no column named")
    }
}
