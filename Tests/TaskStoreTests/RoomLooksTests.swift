import MixModel
import StoreSupport
import Testing

@testable import PostgreSQLStore
@testable import TaskStore

/// The cost of looking for rooms without a node.
@Suite struct RoomLooksTests {
    /// All nodes together read no more rows per second, however many nodes there are.
    @Test func theDatabaseIsAskedNoMoreOftenThanItBears() {
        #expect(RoomLooks.pause(nodes: 3, rows: 30_000) == .zero, "a small cluster looks each time")
        #expect(RoomLooks.pause(nodes: 0, rows: -1) == .zero)
        for (nodes, rows) in [(3, 100_000), (30, 100_000), (1000, 2_000_000)] {
            let pause = RoomLooks.pause(nodes: nodes, rows: rows)
            #expect(abs(Double(nodes * rows) / pause.seconds - RoomLooks.rowsPerSecond) < 1)
        }
    }

    /// Leases of working nodes are not even read, whatever statistics the database has about their distribution.
    @Test(needsPostgreSQL, arguments: [true, false])
    func roomsThatHaveTheirNodeAreNotRead(isAnalysed: Bool) async throws {
        try await withSchema { server, schema in
            let store = try PostgreSQLTaskStore(target(server, schema))
            let one = try #require(PostgreSQLLeases.number(of: try await store.register("one", for: .seconds(60))))
            try server.sql(
                """
                INSERT INTO \(schema).leases (task, owner, epoch)
                    SELECT '//room' || n, \(one), 1 FROM generate_series(1, 20000) n
                """, database: "mix")
            if isAnalysed { try server.sql("ANALYZE \(schema).leases", database: "mix") }
            let query = PostgreSQLRooms.orphanedQuery.replacing("$1", with: "8").replacing("$2", with: "0")
            let plan = try server.sql("SET search_path = \(schema); EXPLAIN ANALYZE \(query)", database: "mix")
            #expect(plan.contains("using leases_by_owner on leases") && !plan.contains("Scan on leases"), "\(plan)")
            await store.close()
        }
    }

    /// Between two full looks, a room whose node is gone is found nevertheless, and a room that never had a node is
    /// not.
    @Test(needsPostgreSQL) func whatLostItsNodeIsFoundAtOnce() async throws {
        try await withSchema { server, schema in
            let store = try PostgreSQLTaskStore(target(server, schema))
            let one = try await store.register("one", for: .seconds(60))
            let two = try await store.register("two", for: .seconds(60))
            let gone = try await store.register("gone", for: .milliseconds(1))
            _ = try await store.claim([.lease(of: "a"), .lease(of: "b")], by: one, for: .seconds(60))
            _ = try await store.claim([.lease(of: "c")], by: gone, for: .milliseconds(1))
            // The database now estimates as many rows as a large cluster has.
            try server.sql(
                "UPDATE pg_class SET reltuples = 1e9 WHERE oid = '\(schema).rooms'::regclass", database: "mix")
            #expect(
                try await store.claimRooms(of: [.live], by: two, limit: 9, for: .seconds(60)).map(\.task.leasedRoom)
                    == ["c"])
            // From now on, the store looks only for rooms that lost their node.
            _ = try await store.claim([.lease(of: "d")], by: gone, for: .milliseconds(1))
            try server.sql(
                "INSERT INTO \(schema).rooms (id, version, document, live) VALUES ('new', 1, '{}', 1)", database: "mix")
            try await store.expel(one)
            #expect(
                try await store.claimRooms(of: [.live], by: two, limit: 9, for: .seconds(60)).map(\.task.leasedRoom)
                    == ["a", "b", "d"])
            #expect(try await store.claimRooms(of: [.live], by: two, limit: 9, for: .seconds(60)).isEmpty)
            await store.close()
        }
    }
}
