import Foundation
import GRDB
import Synchronization

/// A row that cannot be read, and the action taken.
public struct UnreadableRow: Hashable, Sendable {
    /// The table of the row.
    public var table: String
    /// Identifier of the room, task, subscription, layout version or log row.
    public var id: String
    public var reason: String
    /// Whether the row was moved to the table `set_aside`. If false, it stayed in place and is skipped.
    public var isSetAside: Bool

    package init(table: String, id: String, reason: String, isSetAside: Bool) {
        self.table = table
        self.id = id
        self.reason = reason
        self.isSetAside = isSetAside
    }

    /// Describes the damage and the operator's options.
    ///
    /// - Parameter inspection: The command with which the engine describes a damaged log in detail.
    public func advice(_ path: String, inspection: String = "PRAGMA integrity_check") -> String {
        isSetAside
            ? "its stored data cannot be read and starts empty: \(reason). \(path) keeps the original in the table "
                + "set_aside; restore a backup if other data is damaged, too"
            : "rows of a log cannot be read and are skipped: \(reason). Look at \(path) with \(inspection)"
    }
}

/// Moves unreadable documents out of the way, so that each affects only itself. The table `set_aside` keeps them
/// unchanged. Unreadable rows of logs stay in place and are skipped.
final class SetAside: Sendable {
    private let report: @Sendable (UnreadableRow) -> Void
    /// Tables for which a skipped row has been reported.
    private let told = Mutex<Set<String>>([])

    init(_ report: @escaping @Sendable (UnreadableRow) -> Void) { self.report = report }

    /// A row that could not be read.
    struct Candidate: Sendable {
        var table: String
        var key: [DatabaseValue]
        var reason: String

        init(table: String, row: Row, _ error: any Error) {
            self.table = table
            key = DocumentTables.key(of: table).map { row.hasColumn($0) ? row[$0] : DatabaseValue.null }
            reason = DocumentTables.reason(error)
        }
    }

    /// The definition of the table, which is created when it is first needed.
    static let table = """
        CREATE TABLE IF NOT EXISTS set_aside (
            number INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL, id, document, content, at REAL NOT NULL
        )
        """

    /// Moves the rows that still cannot be read to `set_aside`.
    func move(
        _ candidates: [Candidate], _ db: Database, at time: Double, unless isReadable: (Row) -> Bool
    ) throws {
        try db.execute(sql: Self.table)
        for candidate in candidates {
            let table = candidate.table
            let key = DocumentTables.key(of: table)
            let condition = key.map { "\($0) IS ?" }.joined(separator: " AND ")
            let arguments = StatementArguments(candidate.key)
            let row = try Row.fetchOne(db, sql: "SELECT * FROM \(table) WHERE \(condition)", arguments: arguments)
            guard let row, !isReadable(row) else { continue }
            try db.execute(
                sql: """
                    INSERT INTO set_aside (source, id, document, content, at)
                        SELECT '\(table)', \(key[0]), document, \(table == "layout_versions" ? "content" : "NULL"), \(time)
                        FROM \(table) WHERE \(condition)
                    """, arguments: arguments)
            try db.execute(sql: "DELETE FROM \(table) WHERE \(condition)", arguments: arguments)
            if table == "tasks" {
                // The history of the task expires like that of a deleted one.
                try db.execute(
                    sql: "INSERT OR REPLACE INTO removed_tasks (task, at) VALUES (?, ?)",
                    arguments: [candidate.key[0], time])
            }
        }
    }

    func tell(_ candidates: [Candidate], areSetAside: Bool) {
        for candidate in candidates {
            if !areSetAside, !told.withLock({ $0.insert(candidate.table).inserted }) { continue }
            report(
                UnreadableRow(
                    table: candidate.table,
                    id: candidate.key.map { String.fromDatabaseValue($0) ?? "\($0)" }.joined(separator: " "),
                    reason: candidate.reason, isSetAside: areSetAside))
        }
    }
}

extension SQLiteTaskStore {
    /// Returns the readable documents. The others are set aside before this returns.
    ///
    /// - Parameter selection: The SQL after FROM, starting with the table.
    func documents<Document: Decodable & Hashable & Sendable>(
        _ selection: String, _ arguments: StatementArguments = []
    ) async throws(StoreError) -> [Versioned<Document>] {
        let table = String(selection.prefix { $0 != " " })
        return try await readable(table, sql: "SELECT id, version, document FROM \(selection)", arguments) { row in
            let version: Int = try row.value("version")
            // Versions count from 1.
            guard 1...Int(Int32.max) ~= version else {
                throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "its version is \(version)")
            }
            return Versioned(try Self.value(Document.self, row), version: version)
        }
    }

    /// Returns the values of the readable rows. Unreadable documents are set aside first; unreadable rows of logs are
    /// skipped.
    ///
    /// - Parameter sql: Selects a column `document`, and the columns that identify a row.
    func readable<Value: Sendable>(
        _ table: String, sql: String, _ arguments: StatementArguments,
        _ value: @escaping @Sendable (Row) throws -> Value
    ) async throws(StoreError) -> [Value] {
        // Setting a row aside may expose another one that must be read in its place.
        for _ in 0..<3 {
            let (found, unreadable) = try await read { db in try Self.sorted(db, table, sql, arguments, value) }
            guard !unreadable.isEmpty else { return found }
            let isDocument = DocumentTables.contains(table)
            if isDocument {
                try await write { [setAside] db, time in
                    try setAside.move(unreadable, db, at: time) { (try? value($0)) != nil }
                }
            }
            setAside.tell(unreadable, areSetAside: isDocument)
            if !isDocument { return found }
        }
        return try await read { db in try Self.sorted(db, table, sql, arguments, value) }.found
    }

    private static func sorted<Value>(
        _ db: Database, _ table: String, _ sql: String, _ arguments: StatementArguments, _ value: (Row) throws -> Value
    ) throws -> (found: [Value], unreadable: [SetAside.Candidate]) {
        var unreadable: [SetAside.Candidate] = []
        let found: [Value] = try Row.fetchAll(db, sql: sql, arguments: arguments).compactMap { row in
            do {
                return try value(row)
            } catch {
                unreadable.append(SetAside.Candidate(table: table, row: row, error))
                return nil
            }
        }
        return (found, unreadable)
    }

    static func value<Value: Decodable>(_ type: Value.Type, _ row: Row) throws -> Value {
        try JSONDecoder().decode(type, from: Data((try row.value("document") as String).utf8))
    }
}

extension Row {
    /// Returns the column's value. Throws in cases in which the subscript would end the process.
    func value<Value: DatabaseValueConvertible & StatementColumnConvertible>(_ column: String) throws -> Value {
        try decode(Value.self, forColumn: column)
    }
}
