import TaskStore

/// The whole content of a PostgreSQL store that no service uses.
package final class PostgreSQLContents: StoreContents {
    package let place: String
    private let connection: PGConnection

    /// Connects, and creates the tables or brings them up to date.
    ///
    /// - Parameters:
    ///   - name: Name that the cluster must have, or gets if it has none; `nil` = none.
    ///   - isMember: Whether the caller knows the identity of the cluster, and has compared it.
    /// - Throws: `StoreError`, also if a service uses the store.
    package init(_ target: PostgreSQLTarget, name: String? = nil, isMember: Bool = false) throws(StoreError) {
        place = target.place
        do {
            connection = try PGConnection(target)
            try PostgreSQLSchema.migrate(connection, place, name: name, isMember: isMember)
            if let user = try Self.users(connection).first {
                throw StoreError.engine(
                    "\(place) is used by the service \(user): stop it, and wait until its lease has ended (30 s)")
            }
        } catch {
            throw StoreError(error, place: target.place)
        }
    }

    /// Returns the names of nodes whose leases have not expired.
    static func users(_ connection: PGConnection) throws -> [String] {
        try connection.execute(
            "SELECT name FROM nodes WHERE until > extract(epoch FROM clock_timestamp()) ORDER BY number"
        ).rows.map { try $0.text("name") }
    }

    package func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            // A copy has no time limit, and sees a single state of the store.
            try connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL statement_timeout = 0")
            let value = try body()
            try connection.run("COMMIT")
            return value
        } catch {
            if connection.isUsable { try? connection.run("ROLLBACK") }
            throw StoreError(error, place: place)
        }
    }

    package func count(_ table: StoredTable) throws -> Int {
        let found = try connection.execute("SELECT count(*) AS count FROM \(table.name)")
        return Int(clamping: try found.rows.first?.integer("count") ?? 0)
    }

    package func rows(_ table: StoredTable, after key: [StoredValue]?, limit: Int) throws -> [[StoredValue]] {
        let order = table.key.joined(separator: ", ")
        let marks = table.key.indices.map { "$\($0 + 2)" }.joined(separator: ", ")
        let condition = key == nil ? "" : "WHERE (\(order)) > (\(marks))"
        let found = try connection.execute(
            "SELECT \(table.list) FROM \(table.name) \(condition) ORDER BY \(order) LIMIT $1",
            [.integer(Int64(limit))] + (key ?? []).map(Self.parameter))
        return try found.rows.map { row in try table.columns.map { try Self.value($0, row) } }
    }

    private static func parameter(_ value: StoredValue) -> SQLValue {
        switch value {
        case .null: .null
        case .integer(let number): .integer(number)
        case .real(let number): .real(number)
        case .text(let text): .text(text)
        case .blob(let bytes): .bytes(bytes)
        }
    }

    private static func value(_ column: StoredTable.Column, _ row: SQLRow) throws -> StoredValue {
        switch column.kind {
        case .integer: try row.optionalInteger(column.name).map { .integer($0) } ?? .null
        case .real: try row.optionalReal(column.name).map { .real($0) } ?? .null
        case .text: try row.optionalText(column.name).map { .text($0) } ?? .null
        case .blob: try row.optionalBytes(column.name).map { .blob($0) } ?? .null
        }
    }

    package func insert(_ rows: [[StoredValue]], into table: StoredTable) throws {
        let types = table.columns.enumerated().map { index, column in
            switch column.kind {
            case .integer: "$\(index + 1)::bigint[]"
            case .real: "$\(index + 1)::double precision[]"
            case .text: "$\(index + 1)::text[]"
            case .blob: "$\(index + 1)::bytea[]"
            }
        }
        let columns = table.columns.indices.map { index in
            Self.array(rows.map { $0[index] }, table.columns[index].kind)
        }
        do throws(PGFailure) {
            try connection.execute(
                "INSERT INTO \(table.name) (\(table.list)) SELECT * FROM unnest(\(types.joined(separator: ", ")))",
                columns)
        } catch {
            throw StoreError.engine("\(table.name) cannot be copied to \(place): \(error.message)")
        }
    }

    private static func array(_ values: [StoredValue], _ kind: StoredTable.Kind) -> SQLValue {
        switch kind {
        case .integer:
            .integers(values.map { if case .integer(let number) = $0 { number } else { nil } })
        case .real: .reals(values.map { if case .real(let number) = $0 { number } else { nil } })
        case .text: .texts(values.map { if case .text(let text) = $0 { text } else { nil } })
        case .blob: .blobs(values.map { if case .blob(let bytes) = $0 { bytes } else { nil } })
        }
    }

    package func highestNumber(_ table: StoredTable) throws -> Int64 {
        let found = try connection.execute(
            """
            SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('\(table.name)', 'number')::regclass), 0)
                AS number
            """)
        return try found.rows.first?.integer("number") ?? 0
    }

    package func setHighestNumber(_ number: Int64, _ table: StoredTable) throws {
        guard number > 0 else { return }
        try connection.execute(
            "SELECT setval(pg_get_serial_sequence('\(table.name)', 'number')::regclass, $1)", [.integer(number)])
    }
}
