import Foundation
import Synchronization
import TaskStore

/// Moves unreadable documents out of the way, so that each affects only itself. The table `set_aside` keeps them
/// unchanged. Unreadable rows of logs stay in place and are skipped.
final class PostgreSQLSetAside: Sendable {
    private let report: @Sendable (UnreadableRow) -> Void
    /// Tables for which a skipped row has been reported.
    private let told = Mutex<Set<String>>([])

    init(_ report: @escaping @Sendable (UnreadableRow) -> Void) { self.report = report }

    /// A row that could not be read.
    struct Candidate: Sendable {
        var table: String
        var key: [String]
        var reason: String

        init(table: String, row: SQLRow, _ error: any Error) {
            self.table = table
            key = DocumentTables.key(of: table).map { (try? row.text($0)) ?? "" }
            reason = DocumentTables.reason(error)
        }
    }

    /// Moves the rows that still cannot be read to `set_aside`.
    func move(
        _ candidates: [Candidate], _ connection: PGConnection, at time: Double, unless isReadable: (SQLRow) -> Bool
    ) throws {
        for candidate in candidates {
            let table = candidate.table
            let key = DocumentTables.key(of: table)
            let condition = key.enumerated().map { "\($1)::text = $\($0 + 1)" }.joined(separator: " AND ")
            let arguments = candidate.key.map { SQLValue.text($0) }
            let found = try connection.execute("SELECT * FROM \(table) WHERE \(condition) FOR UPDATE", arguments)
            guard let row = found.rows.first, !isReadable(row) else { continue }
            let content = table == "layout_versions" ? "content" : "NULL::bytea"
            try connection.execute(
                """
                INSERT INTO set_aside (source, id, document, content, at)
                    SELECT '\(table)', convert_to(\(key[0])::text, 'UTF8'), convert_to(document, 'UTF8'), \(content),
                        $\(key.count + 1)::double precision
                    FROM \(table) WHERE \(condition)
                """, arguments + [.real(time)])
            try connection.execute("DELETE FROM \(table) WHERE \(condition)", arguments)
            if table == "tasks" {
                // The history of the task expires like that of a deleted one.
                try connection.execute(
                    """
                    INSERT INTO removed_tasks (task, at) VALUES ($1, $2)
                    ON CONFLICT (task) DO UPDATE SET at = excluded.at
                    """, [arguments[0], .real(time)])
            }
        }
    }

    func tell(_ candidates: [Candidate], areSetAside: Bool) {
        for candidate in candidates {
            if !areSetAside, !told.withLock({ $0.insert(candidate.table).inserted }) { continue }
            report(
                UnreadableRow(
                    table: candidate.table, id: candidate.key.joined(separator: " "), reason: candidate.reason,
                    isSetAside: areSetAside))
        }
    }
}

extension PostgreSQLTaskStore {
    /// Returns the readable documents. The others are set aside before this returns.
    ///
    /// - Parameter selection: The SQL after FROM, starting with the table.
    func documents<Document: Decodable & Hashable & Sendable>(
        _ selection: String, _ arguments: [SQLValue] = []
    ) async throws(StoreError) -> [Versioned<Document>] {
        let table = String(selection.prefix { $0 != " " })
        return try await readable(table, "SELECT id, version, document FROM \(selection)", arguments) { row in
            let version = try row.integer("version")
            // Versions count from 1.
            guard 1...Int64(Int32.max) ~= version else {
                throw SQLRow.Unreadable(description: "its version is \(version)")
            }
            return Versioned(try Self.value(Document.self, row), version: Int(version))
        }
    }

    /// Returns the values of the readable rows. Unreadable documents are set aside first; unreadable rows of logs are
    /// skipped.
    ///
    /// - Parameter statement: Selects a column `document`, and the columns that identify a row.
    func readable<Value: Sendable>(
        _ table: String, _ statement: String, _ arguments: [SQLValue],
        _ value: @escaping @Sendable (SQLRow) throws -> Value
    ) async throws(StoreError) -> [Value] {
        // Setting a row aside may expose another one that must be read in its place.
        for _ in 0..<3 {
            let (found, unreadable) = try await read { try Self.sorted($0, table, statement, arguments, value) }
            guard !unreadable.isEmpty else { return found }
            let isDocument = DocumentTables.contains(table)
            if isDocument {
                try await write { [setAside] connection, time in
                    try setAside.move(unreadable, connection, at: time) { (try? value($0)) != nil }
                }
            }
            setAside.tell(unreadable, areSetAside: isDocument)
            if !isDocument { return found }
        }
        return try await read { try Self.sorted($0, table, statement, arguments, value) }.found
    }

    private static func sorted<Value>(
        _ connection: PGConnection, _ table: String, _ statement: String, _ arguments: [SQLValue],
        _ value: (SQLRow) throws -> Value
    ) throws -> (found: [Value], unreadable: [PostgreSQLSetAside.Candidate]) {
        var unreadable: [PostgreSQLSetAside.Candidate] = []
        let found: [Value] = try connection.execute(statement, arguments).rows.compactMap { row in
            do {
                return try value(row)
            } catch {
                unreadable.append(PostgreSQLSetAside.Candidate(table: table, row: row, error))
                return nil
            }
        }
        return (found, unreadable)
    }

    static func value<Value: Decodable>(_ type: Value.Type, _ row: SQLRow) throws -> Value {
        try JSONDecoder().decode(type, from: Data(try row.text("document").utf8))
    }
}
