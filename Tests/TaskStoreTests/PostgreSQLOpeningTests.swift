import Foundation
import MixModel
import StoreSupport
import TestSupport
import Testing

@testable import PostgreSQLStore
@testable import TaskStore

/// An unusable server or schema is named in one line with the cure, and nothing is written.
@Suite(needsPostgreSQL) struct PostgreSQLOpeningTests {
    /// Opens a store that cannot be opened. Returns the message.
    func failure(
        _ url: String, password: String? = nil, cluster: String? = nil, name: String? = nil
    ) -> String {
        do throws(StoreError) {
            _ = try PostgreSQLTaskStore(PostgreSQLTarget(url: url, password: password), cluster: cluster, name: name)
            return "opened"
        } catch {
            let text = error.description
            #expect(!text.contains("\n"))
            #expect(!text.contains(PostgreSQLServer.password) && !text.contains("wr0ng"), "\(text)")
            return text
        }
    }

    /// Returns the number of tables of a schema.
    func tables(_ server: PostgreSQLServer, _ schema: String) throws -> String {
        try server.sql("SELECT count(*) FROM pg_tables WHERE schemaname = '\(schema)'", database: "mix")
    }

    /// Returns all contents of a schema as one text.
    private func contents(_ server: PostgreSQLServer, _ schema: String) throws -> String {
        try server.sql(
            """
            SELECT string_agg(
                tablename || query_to_xml(format('SELECT * FROM %I.%I t ORDER BY t::text', schemaname, tablename), \
            true, false, '')::text, '' ORDER BY tablename) FROM pg_tables WHERE schemaname = '\(schema)'
            """, database: "mix")
    }

    @Test func aWrongPasswordIsNamed() async throws {
        try await withSchema { server, schema in
            for text in [
                failure(server.url(password: "wr0ng", schema: schema)),
                failure(server.url(schema: schema), password: "wr0ng"),
                failure(server.url(password: nil, schema: schema)),
            ] {
                #expect(text.contains("store.passwordFile"), "\(text)")
                #expect(text.contains("the database mix on 127.0.0.1:\(server.port)"))
            }
            let made = try tables(server, schema)
            #expect(made == "0")
        }
    }

    @Test func theFilesPasswordReplacesThatOfTheURL() async throws {
        try await withSchema { server, schema in
            let target = try PostgreSQLTarget(
                url: server.url(password: "wr0ng", schema: schema), password: PostgreSQLServer.password)
            let store = try PostgreSQLTaskStore(target)
            await store.close()
        }
    }

    @Test func whatIsMissingIsNamed() async throws {
        try await withSchema { server, schema in
            let text = failure(server.url(database: "nowhere"))
            #expect(text.contains("nowhere") && text.contains("create the database"), "\(text)")
            #expect(try server.sql("SELECT count(*) FROM pg_database WHERE datname = 'nowhere'") == "0")
            let none = failure(server.url(schema: "no_such_schema"))
            #expect(none.contains("CREATE SCHEMA"), "\(none)")
            let nobody = try ReservedPort()
            let down = failure(server.url(port: nobody.number))
            withExtendedLifetime(nobody) {}
            #expect(down.contains("check that the server runs"), "\(down)")
        }
    }

    @Test(arguments: [
        "postgresql://mix:wr0ng@127.0.0.1:port/x", "postgresql://mix:wr0ng@[::1/x",
        "postgresql://mix:wr0ng@h/x?wr0ng=1",
        "mysql://mix:wr0ng@h/x", "postgresql://mix:wr0ng@h/%zz",
    ])
    func aURLThatIsNoneIsNotQuoted(_ url: String) {
        let text = failure(url)
        #expect(text.contains("store.url"), "\(text)")
    }

    @Test func tooManyConnectionsAreNamed() async throws {
        try await withSchema { server, schema in
            let name = "few\(UInt32.random(in: 0 ... .max))"
            try server.sql(
                "CREATE ROLE \(name) LOGIN PASSWORD '\(PostgreSQLServer.password)' CONNECTION LIMIT 0", database: "mix")
            let text = failure(server.url(user: name, schema: schema))
            #expect(text.contains("CONNECTION LIMIT of the user"), "\(text)")
        }
    }

    @Test func aNewerSchemaIsRefused() async throws {
        try await withSchema { server, schema in
            await (try PostgreSQLTaskStore(target(server, schema))).close()
            try server.sql("INSERT INTO \(schema).schema_version VALUES (99, now())", database: "mix")
            let before = try contents(server, schema)
            #expect(before.contains("schema_version"))
            let text = failure(server.url(schema: schema))
            #expect(text.contains("version 99") && text.contains("knows \(PostgreSQLSchema.version)"), "\(text)")
            #expect(text.contains("install the version that wrote it"), "\(text)")
            #expect(try contents(server, schema) == before, "nothing was written")
        }
    }

    /// A dump holds every table for as long as it lasts. Nodes of the earlier release renew their leases meanwhile, also
    /// if an earlier migration has its table already.
    @Test(arguments: ["commits", "nodes"])
    func aMigrationDoesNotHoldUpOthersBehindADump(of table: String) async throws {
        try await withSchema { server, schema in
            await (try PostgreSQLTaskStore(target(server, schema))).close()
            try server.sql(
                """
                ALTER TABLE \(schema).cluster DROP COLUMN name; ALTER TABLE \(schema).nodes DROP COLUMN site; \
                DROP FUNCTION \(schema).begin_group_2; ALTER TABLE \(schema).commits DROP COLUMN elapsed; \
                DELETE FROM \(schema).schema_version WHERE number >= 5
                """, database: "mix")
            let place = try target(server, schema)
            let dump = try PGConnection(place)
            try dump.run("BEGIN; LOCK TABLE \(table) IN ACCESS SHARE MODE")
            let migration = Task.detached { await (try PostgreSQLTaskStore(place)).close() }
            let writer = try PGConnection(place)
            // The migration waits by now, or has given up for a moment.
            let isWaiting = try await poll(within: .seconds(20), every: .milliseconds(5)) {
                let found = try writer.execute(
                    """
                    SELECT 1 FROM pg_locks
                    WHERE NOT granted AND mode = 'AccessExclusiveLock' AND relation = '\(table)'::regclass
                    """)
                return found.rows.isEmpty ? nil : true
            }
            #expect(isWaiting == true)
            let asked = ContinuousClock.now
            try writer.run("UPDATE commits SET number = number")
            #expect(ContinuousClock.now - asked < .seconds(3))
            try dump.run("COMMIT")
            try await migration.value
            let version = try server.sql("SELECT max(number) FROM \(schema).schema_version", database: "mix")
            #expect(version == "\(PostgreSQLSchema.version)")
        }
    }

    /// A migration may take longer than a statement may.
    @Test func anotherNodesMigrationIsWaitedFor() async throws {
        try await withSchema { server, schema in
            let target = try target(server, schema)
            await (try PostgreSQLTaskStore(target)).close()
            try await withCheckedThrowingContinuation { (isHeld: CheckedContinuation<Void, any Error>) in
                DispatchQueue.global().async {
                    let other: PGConnection
                    do {
                        other = try PGConnection(target)
                        try other.run("BEGIN")
                        #expect(try PostgreSQLSchema.takeLock(other))
                    } catch {
                        return isHeld.resume(throwing: error)
                    }
                    isHeld.resume()
                    try? other.run("SELECT pg_sleep(4); COMMIT")
                }
            }
            let connection = try PGConnection(target)
            try connection.run("SET statement_timeout = '3s'")
            let done = try PostgreSQLSchema.migrate(connection, target.place)
            #expect(done.before == PostgreSQLSchema.version)
        }
    }

    @Test func anotherClusterIsRefused() async throws {
        try await withSchema { server, schema in
            let empty = failure(server.url(schema: schema), cluster: "mine")
            #expect(empty.contains("another cluster"), "\(empty)")
            #expect(try tables(server, schema) == "0", "nothing was made")
            let store = try PostgreSQLTaskStore(target(server, schema))
            await store.close()
            let before = try contents(server, schema)
            let text = failure(server.url(schema: schema), cluster: "mine")
            #expect(text.contains(store.cluster) && text.contains("mine"), "\(text)")
            #expect(try contents(server, schema) == before, "nothing was written")
            let again = try PostgreSQLTaskStore(target(server, schema), cluster: store.cluster)
            await again.close()
        }
    }

    /// Clusters that have names do not share a schema, whether their directories know another one or not.
    @Test func aClusterOfAnotherNameIsRefused() async throws {
        try await withSchema { server, schema in
            let store = try PostgreSQLTaskStore(target(server, schema), name: "north")
            _ = try await store.register("here", for: .seconds(60))
            await store.close()
            let before = try contents(server, schema)
            let refused: [(name: String?, cluster: String?, words: String)] = [
                ("south", nil, "belongs to the cluster north, not to south"), ("south", store.cluster, "not to south"),
                (nil, nil, "set store.cluster to north to join it"),
            ]
            for (name, cluster, words) in refused {
                let text = failure(server.url(schema: schema), cluster: cluster, name: name)
                #expect(text.contains(words), "\(text)")
            }
            #expect(try contents(server, schema) == before, "nothing was written")
            // A service that knows the cluster need not know its name.
            let accepted: [(name: String?, cluster: String?)] = [
                ("north", nil), ("north", store.cluster), (nil, store.cluster),
            ]
            for (name, cluster) in accepted {
                await (try PostgreSQLTaskStore(target(server, schema), cluster: cluster, name: name)).close()
            }
        }
    }

    /// A cluster without a name gets one from its own services, or before anyone uses it.
    @Test func aClusterIsNamedByItsOwnServices() async throws {
        try await withSchema { server, schema in
            let store = try PostgreSQLTaskStore(target(server, schema))
            _ = try await store.register("here", for: .seconds(60))
            await store.close()
            let before = try contents(server, schema)
            let text = failure(server.url(schema: schema), name: "south")
            #expect(text.contains("a cluster without a name, not by south"), "\(text)")
            #expect(try contents(server, schema) == before, "nothing was written")
            await (try PostgreSQLTaskStore(target(server, schema), cluster: store.cluster, name: "north")).close()
            let named = failure(server.url(schema: schema), name: "south")
            #expect(named.contains("belongs to the cluster north"), "\(named)")
        }
        try await withSchema { server, schema in
            await (try PostgreSQLTaskStore(target(server, schema))).close()
            await (try PostgreSQLTaskStore(target(server, schema), name: "north")).close()
            let named = failure(server.url(schema: schema), name: "south")
            #expect(named.contains("belongs to the cluster north"), "\(named)")
        }
    }

    @Test func ofTwoClustersThatStartTogetherOneGetsTheSchema() async throws {
        try await withSchema { server, schema in
            let target = try target(server, schema)
            async let north = Self.opens(target, "north")
            async let south = Self.opens(target, "south")
            let results = await [north, south]
            #expect(results.contains(true) && results.contains(false), "\(results)")
        }
    }

    private static func opens(_ target: PostgreSQLTarget, _ name: String) async -> Bool {
        do throws(StoreError) {
            let store = try PostgreSQLTaskStore(target, name: name)
            await store.close()
            return true
        } catch {
            #expect(error.description.contains("not to \(name)"), "\(error)")
            return false
        }
    }

    @Test func tablesOfAnotherProgramAreLeftAlone() async throws {
        try await withSchema { server, schema in
            try server.sql("CREATE TABLE \(schema).rooms (a int)", database: "mix")
            let text = failure(server.url(schema: schema))
            #expect(text.contains("\"rooms\" already exists"), "\(text)")
            #expect(try tables(server, schema) == "1")
        }
    }

    @Test func aStandbyIsNamed() async throws {
        let primary = try PostgreSQLServer()
        let standby = try PostgreSQLServer(copying: primary)
        defer {
            standby.remove()
            primary.remove()
        }
        let text = failure(standby.url())
        #expect(text.contains("name the primary"), "\(text)")
        let any = failure(standby.url() + "?target_session_attrs=any")
        #expect(any.contains("standby"), "\(any)")
        for server in [primary, standby] { #expect(try tables(server, "public") == "0", "nothing was made") }
        // Of several servers, the store uses the primary.
        let servers = "127.0.0.1:\(standby.port),127.0.0.1:\(primary.port)"
        let both = "postgresql://mix:\(PostgreSQLServer.password)@\(servers)/mix"
        let store = try PostgreSQLTaskStore(PostgreSQLTarget(url: both))
        #expect(try await store.commit(StoreChange(event: event("1"))) == .committed)
        await store.close()
    }
}
