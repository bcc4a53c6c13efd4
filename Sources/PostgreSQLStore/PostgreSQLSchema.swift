import Foundation
import TaskStore

/// The tables and their migrations. Migrations are only ever appended; functions carry a number in their names, so that
/// binaries of two versions can use one schema.
enum PostgreSQLSchema {
    /// The migrations, oldest first. The schema's version is the number of migrations applied to it.
    static let migrations = [first, second, third, fourth, fifth, sixth, seventh]

    static var version: Int64 { Int64(migrations.count) }

    /// Oldest server version that is accepted, as `server_version_num`.
    private static let oldestServer: Int64 = 130_000

    /// The state of the schema that a connection uses.
    struct State: Sendable {
        /// Version of the schema; 0 = the schema is empty.
        var version: Int64
        /// Identity of the cluster; `nil` in an empty schema.
        var cluster: String?
        /// Name that operators gave the cluster; `nil` = none.
        var name: String?
    }

    /// Returns the state of the schema without writing. It reads the catalogue's tables: `to_regclass` may not yet see
    /// what another connection has just created.
    ///
    /// - Throws: `StoreError` if the server cannot be used, or the schema is newer than this program.
    static func state(_ connection: PGConnection, _ place: String) throws -> State {
        let server = try connection.execute(
            """
            SELECT current_setting('server_version_num')::bigint AS version, pg_is_in_recovery()::int AS standby,
                current_setting('server_encoding') AS encoding, current_schema() AS schema,
                EXISTS (
                    SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
                    WHERE nspname = current_schema() AND relname = 'schema_version'
                ) AS present
            """)
        guard let row = server.rows.first else { throw StoreError.engine("no answer from \(place)") }
        guard try row.integer("version") >= oldestServer else {
            throw StoreError.engine("\(place): the server is older than PostgreSQL 13: upgrade it")
        }
        guard try row.integer("standby") == 0 else {
            throw StoreError.engine("\(place) is a standby, which cannot be written: name the primary in store.url")
        }
        guard try row.text("encoding") == "UTF8" else {
            throw StoreError.engine("\(place) has the encoding \(try row.text("encoding")): create it with UTF8")
        }
        guard try row.optionalText("schema") != nil else {
            throw StoreError.engine("\(place): no schema of its search_path exists: create one with CREATE SCHEMA")
        }
        guard try row.text("present") == "t" else { return State(version: 0) }
        let found = try connection.execute(
            """
            SELECT coalesce(max(number), 0) AS version, (SELECT id FROM cluster) AS cluster,
                (SELECT to_jsonb(one) ->> 'name' FROM cluster AS one) AS name FROM schema_version
            """)
        guard let row = found.rows.first else { return State(version: 0) }
        let state = State(
            version: try row.integer("version"), cluster: try row.optionalText("cluster"),
            name: try row.optionalText("name"))
        guard state.version <= version else {
            throw StoreError.schemaTooNew(place: place, found: Int(state.version), known: Int(version))
        }
        return state
    }

    /// Seconds between two attempts to be the program that migrates.
    private static let lockInterval = 0.1

    /// Takes the lock of the schema's migrations, until the end of the transaction.
    ///
    /// - Returns: False if another program has it.
    static func takeLock(_ connection: PGConnection) throws -> Bool {
        let taken = try connection.execute(
            "SELECT pg_try_advisory_xact_lock(hashtextextended('mixorchestrator ' || current_schema(), 0)) AS taken")
        return try taken.rows.first?.text("taken") == "t"
    }

    /// Seconds for which a migration waits for a table, and for which it lets others pass before it waits again.
    private static let (lockTimeout, lockPause) = (1, 2.0)
    /// Time for which a migration tries to get its tables.
    private static let lockPatience: Duration = .seconds(120)

    /// Runs the migrations after `applied`. While one waits for a table that is in use, by a dump for example, everybody
    /// else who wants the table waits behind it, and nodes that cannot renew their leases go off air. So it waits for a
    /// moment at a time, and then gives back the tables of the migrations before it as well.
    ///
    /// - Throws: `StoreError` if a table is in use for longer than `lockPatience`.
    private static func apply(after applied: Int64, _ connection: PGConnection, _ place: String) throws {
        let end = ContinuousClock.now + lockPatience
        while true {
            try connection.run("SAVEPOINT migrations; SET LOCAL lock_timeout = '\(lockTimeout)s'")
            do {
                for number in applied..<version {
                    try connection.run(migrations[Int(number)])
                    if number == 0 {
                        try connection.execute(
                            "INSERT INTO cluster (id, created) VALUES ($1, extract(epoch FROM clock_timestamp()))",
                            [.text(UUID().uuidString.lowercased())])
                    }
                    try connection.execute(
                        "INSERT INTO schema_version (number, at) VALUES ($1, clock_timestamp())",
                        [.integer(number + 1)])
                }
                return
            } catch {
                guard error.state == "55P03" else { throw error }
                try connection.run("ROLLBACK TO SAVEPOINT migrations")
            }
            guard ContinuousClock.now < end else {
                throw StoreError.engine(
                    "\(place): its tables are in use, by a dump perhaps: start again when it has ended")
            }
            Thread.sleep(forTimeInterval: lockPause)
        }
    }

    /// Brings the schema up to date, in one transaction. If several programs start at once, one of them does it.
    ///
    /// - Parameters:
    ///   - name: Name that the cluster must have, or gets if it has none; `nil` = none.
    ///   - isMember: Whether the caller knows the identity of the schema's cluster.
    /// - Returns: The versions before and after.
    @discardableResult
    static func migrate(
        _ connection: PGConnection, _ place: String, name: String? = nil, isMember: Bool = false
    ) throws -> (before: Int64, after: State) {
        try connection.run("BEGIN")
        do {
            // Another node's migration may take longer than a statement may, so no statement waits for its end.
            while try !takeLock(connection) { Thread.sleep(forTimeInterval: lockInterval) }
            let before = try state(connection, place)
            // Another cluster may have created the tables in the meantime.
            try checkName(before, name, isMember: isMember, connection, place)
            try apply(after: before.version, connection, place)
            if let name, before.name == nil {
                try connection.execute("UPDATE cluster SET name = $1", [.text(name)])
            }
            let after = try state(connection, place)
            try connection.run("COMMIT")
            return (before.version, after)
        } catch {
            if connection.isUsable { try? connection.run("ROLLBACK") }
            throw error
        }
    }
}

extension PostgreSQLSchema {
    /// Checks that the schema belongs to the cluster whose identity is already known.
    ///
    /// - Throws: `StoreError.otherCluster`.
    static func check(_ state: State, _ expected: String?, _ place: String) throws(StoreError) {
        guard let expected, let found = state.cluster ?? (state.version == 0 ? "none: it is empty" : nil),
            found != expected
        else { return }
        throw .otherCluster(place: place, found: found, expected: expected)
    }

    /// Checks that the schema's cluster has the name that is configured. A cluster without a name may get one from those that
    /// know its identity, or from anyone as long as no service has used it.
    ///
    /// - Parameters:
    ///   - name: The configured name; `nil` = none, with which those that know its identity may use any cluster.
    ///   - isMember: Whether the caller knows the cluster's identity, and has compared it.
    /// - Throws: `StoreError.otherName`.
    static func checkName(
        _ state: State, _ name: String?, isMember: Bool, _ connection: PGConnection, _ place: String
    ) throws {
        guard state.name != name else { return }
        if name == nil || state.name == nil, isMember { return }
        if state.name == nil {
            guard state.version > 0, try isUsed(connection) else { return }
        }
        throw StoreError.otherName(place: place, found: state.name, expected: name)
    }

    /// Returns whether the tables hold rooms, or services that have not left.
    private static func isUsed(_ connection: PGConnection) throws -> Bool {
        try connection.execute(
            "SELECT (EXISTS (SELECT 1 FROM nodes) OR EXISTS (SELECT 1 FROM rooms))::int AS used"
        ).rows.first?.integer("used") != 0
    }
}
