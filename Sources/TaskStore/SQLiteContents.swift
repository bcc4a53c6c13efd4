import Foundation
import GRDB

/// The whole content of an SQLite store that no service uses.
package final class SQLiteContents: StoreContents {
    package let place: String
    private let queue: DatabaseQueue
    /// The connection, while a transaction runs on the queue.
    private var connection: Database?

    /// Opens the file and brings its tables up to date.
    ///
    /// - Parameter creates: Whether a missing file is created.
    package init(path: String, creates: Bool) throws(StoreError) {
        place = path
        guard creates || FileManager.default.fileExists(atPath: path) else {
            throw .notWritable(path: path, reason: "there is no such file")
        }
        do {
            if !FileManager.default.fileExists(atPath: path) {
                let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
                guard FileManager.default.createFile(atPath: path, contents: nil, attributes: attributes)
                else { throw StoreError.notWritable(path: path, reason: String(cString: strerror(errno))) }
            }
            queue = try DatabaseQueue(path: path)
            let migrator = SQLiteSchema.migrator
            if try queue.read(migrator.hasBeenSuperseded) { throw StoreError.tooNew(path: path) }
            try migrator.migrate(queue)
            // The store creates it when it is first needed.
            try queue.write { try $0.execute(sql: SetAside.table) }
        } catch {
            throw StoreError(error, path: path)
        }
    }

    package func close() { try? queue.close() }

    /// Ends the leases of all services. The caller knows that none of them runs: it has locked the data directory.
    package func endLeases() throws(StoreError) {
        do {
            try queue.write { try $0.execute(sql: "UPDATE nodes SET until = 0") }
        } catch {
            throw StoreError(error, path: place)
        }
    }

    package func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try queue.writeWithoutTransaction { db in
                connection = db
                defer { connection = nil }
                var value: Value?
                try db.inTransaction {
                    value = try body()
                    return .commit
                }
                guard let value else { throw StoreError.engine("the transaction of \(place) has no outcome") }
                return value
            }
        } catch {
            throw StoreError(error, path: place)
        }
    }

    private func current() throws -> Database {
        guard let connection else { throw StoreError.engine("\(place) is read outside a transaction") }
        return connection
    }

    package func count(_ table: StoredTable) throws -> Int {
        try Int.fetchOne(current(), sql: "SELECT count(*) FROM \(table.name)") ?? 0
    }

    package func rows(_ table: StoredTable, after key: [StoredValue]?, limit: Int) throws -> [[StoredValue]] {
        // Read as bytes: a value that is read as text ends at its first NUL, and blobs of damaged rows may be texts.
        let columns = table.columns.map { [.blob, .text].contains($0.kind) ? "CAST(\($0.name) AS BLOB)" : $0.name }
        let order = table.key.joined(separator: ", ")
        let marks = table.key.map { _ in "?" }.joined(separator: ", ")
        let condition = key == nil ? "" : "WHERE (\(order)) > (\(marks))"
        let arguments = StatementArguments((key ?? []).map(\.databaseValue) + [limit.databaseValue])
        let rows = try Row.fetchAll(
            current(),
            sql: "SELECT \(columns.joined(separator: ", ")) FROM \(table.name) \(condition) ORDER BY \(order) LIMIT ?",
            arguments: arguments)
        return try rows.map { row in
            try zip(row.databaseValues, table.columns).map { value, column in
                try Self.value(value, column, table, place)
            }
        }
    }

    /// - Throws: `StoreError.corrupt` for a value that is not of the column's type.
    private static func value(
        _ value: DatabaseValue, _ column: StoredTable.Column, _ table: StoredTable, _ place: String
    ) throws -> StoredValue {
        switch (value.storage, column.kind) {
        case (.null, _): return .null
        case (.int64(let number), .integer): return .integer(number)
        case (.int64(let number), .real): return .real(Double(number))
        case (.double(let number), .real): return .real(number)
        case (.blob(let data), .blob): return .blob([UInt8](data))
        case (.blob(let data), .text):
            if let text = String(validating: data, as: UTF8.self) { return .text(text) }
        default: break
        }
        throw StoreError.corrupt(
            path: place,
            reason: "a value of \(table.name).\(column.name) has another type. Start the service once: it sets damaged "
                + "documents aside")
    }

    package func insert(_ rows: [[StoredValue]], into table: StoredTable) throws {
        let marks = table.columns.map { _ in "?" }.joined(separator: ", ")
        let statement = try current().cachedStatement(
            sql: "INSERT INTO \(table.name) (\(table.list)) VALUES (\(marks))")
        for row in rows { try statement.execute(arguments: StatementArguments(row.map(\.databaseValue))) }
    }

    package func highestNumber(_ table: StoredTable) throws -> Int64 {
        let kept = try Int64.fetchOne(
            current(), sql: "SELECT seq FROM sqlite_sequence WHERE name = ?", arguments: [table.name])
        return try kept ?? Int64.fetchOne(current(), sql: "SELECT max(number) FROM \(table.name)") ?? 0
    }

    package func setHighestNumber(_ number: Int64, _ table: StoredTable) throws {
        guard number > 0 else { return }
        try current().execute(sql: "DELETE FROM sqlite_sequence WHERE name = ?", arguments: [table.name])
        let isCounted = try Bool.fetchOne(
            current(), sql: "SELECT sql LIKE '%AUTOINCREMENT%' FROM sqlite_master WHERE name = ?",
            arguments: [table.name])
        guard isCounted == true else { return }
        try current().execute(
            sql: "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", arguments: [table.name, number])
    }
}

extension StoredValue {
    fileprivate var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let number): number.databaseValue
        case .real(let number): number.databaseValue
        case .text(let text): text.databaseValue
        case .blob(let bytes): Data(bytes).databaseValue
        }
    }
}
