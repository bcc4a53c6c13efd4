import TaskStore

/// Operators' tasks on a store's database. Calls block.
public enum PostgreSQLAdministration {
    /// The state of a database.
    public struct Report: Sendable {
        /// Version of the server, such as `15.20`.
        public var server: String
        /// Version of the schema; 0 = there are no tables yet.
        public var version: Int
        /// Version of the schema that this program writes.
        public var knownVersion: Int
        /// Identity of the cluster; `nil` without tables.
        public var cluster: String?
        /// Name that operators gave the cluster; `nil` = none.
        public var name: String?
        /// Names of the services whose leases have not expired.
        public var services: [String]
        /// Number of rows of each table, ordered by table; empty unless requested.
        public var counts: [(table: String, rows: Int)]
    }

    /// Inspects the database without writing.
    ///
    /// - Parameters:
    ///   - expected: Identity that the schema must have; `nil` = any.
    ///   - name: Name that the cluster must have; `nil` = none.
    /// - Throws: `StoreError` if a service could not use the database.
    public static func inspect(
        _ target: PostgreSQLTarget, cluster expected: String?, name: String?, counting: Bool
    ) throws(StoreError) -> Report {
        do {
            let connection = try PGConnection(target)
            let state = try PostgreSQLSchema.state(connection, target.place)
            try PostgreSQLSchema.check(state, expected, target.place)
            try PostgreSQLSchema.checkName(state, name, isMember: expected != nil, connection, target.place)
            let server = try connection.execute("SELECT current_setting('server_version') AS version")
            var report = Report(
                server: (try server.rows.first?.text("version")) ?? "unknown", version: Int(state.version),
                knownVersion: Int(PostgreSQLSchema.version), cluster: state.cluster, name: state.name,
                services: [], counts: [])
            guard state.version > 0 else { return report }
            report.services = try PostgreSQLContents.users(connection)
            guard counting else { return report }
            for table in StoredTable.all {
                let found = try connection.execute("SELECT count(*) AS count FROM \(table.name)")
                report.counts.append((table.name, Int(clamping: try found.rows.first?.integer("count") ?? 0)))
            }
            return report
        } catch {
            throw StoreError(error, place: target.place)
        }
    }

    /// Creates the tables, or brings them up to date.
    ///
    /// - Parameters:
    ///   - expected: Identity that the schema must have; `nil` = any.
    ///   - name: Name that the cluster must have, or gets if it has none; `nil` = none.
    /// - Returns: The versions of the schema before and after, and the identity of the cluster.
    public static func migrate(
        _ target: PostgreSQLTarget, cluster expected: String?, name: String?
    ) throws(StoreError) -> (before: Int, after: Int, cluster: String) {
        do {
            let connection = try PGConnection(target)
            try PostgreSQLSchema.check(PostgreSQLSchema.state(connection, target.place), expected, target.place)
            let (before, after) = try PostgreSQLSchema.migrate(
                connection, target.place, name: name, isMember: expected != nil)
            return (Int(before), Int(after.version), after.cluster ?? "")
        } catch {
            throw StoreError(error, place: target.place)
        }
    }
}
