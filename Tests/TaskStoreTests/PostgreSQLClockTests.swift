import MixModel
import StoreSupport
import Testing

@testable import PostgreSQLStore
@testable import TaskStore

/// The server's clock is set forward while nodes hold leases. The tests set the server's clock and those of the writers.
@Suite(needsPostgreSQL) struct PostgreSQLClockTests {
    /// A new schema, as several writers use it.
    private struct Database {
        let connection: PGConnection

        init(_ target: PostgreSQLTarget) throws {
            connection = try PGConnection(target)
            try PostgreSQLSchema.migrate(connection, target.place)
        }

        /// Begins a group.
        ///
        /// - Parameters:
        ///   - time: The server's clock.
        ///   - elapsed: The writer's clock, in seconds from any time on.
        @discardableResult
        func begin(_ writer: String, at time: Double, elapsed: Double) throws -> Double {
            let begun = try connection.execute(
                "SELECT begin_group_2($1, $2, 1, $3) AS time", [.real(time), .text(writer), .real(elapsed)])
            return try #require(begun.rows.first).real("time")
        }

        func register(_ name: String, until: Double) throws -> NodeID {
            try PostgreSQLLeases.register(name, until: until, connection)
        }

        func claim(_ node: NodeID, at time: Double) throws -> Bool {
            try !PostgreSQLLeases.claim(["t"], by: node, at: time, connection).isEmpty
        }

        func end(of node: NodeID) throws -> Double {
            let number = try #require(PostgreSQLLeases.number(of: node))
            let found = try connection.execute("SELECT until FROM nodes WHERE number = $1", [.integer(number)])
            return try #require(found.rows.first).real("until")
        }
    }

    /// The relays of a node send until its lease ends by their own clocks: no other node takes its tasks before.
    @Test func aStepForwardEndsNoLease() async throws {
        try await withSchema { server, schema in
            let database = try Database(target(server, schema))
            try database.begin("a", at: 1000, elapsed: 50)
            let one = try database.register("one", until: 1030)
            let two = try database.register("two", until: 2000)
            #expect(try database.claim(one, at: 1000))
            try database.begin("b", at: 1000.5, elapsed: 9)

            // Half a second later for the writer, and half a minute for the server.
            let time = try database.begin("b", at: 1032, elapsed: 9.5)
            #expect(try database.end(of: one) == 1061)
            #expect(try !database.claim(two, at: time))
            // The other writer finds the same step, which counts once.
            try database.begin("a", at: 1032.5, elapsed: 52)
            #expect(try database.end(of: one) == 1061)
            // A time in which nothing is written is no step.
            try database.begin("b", at: 1045, elapsed: 22.5)
            try database.begin("b", at: 1061.5, elapsed: 39)
            #expect(try database.end(of: one) == 1061)
            #expect(try database.claim(two, at: 1061.5))
        }
    }

    /// A service that has just started does not hide the step from the others.
    @Test func aNewWriterLeavesTheStepToOthers() async throws {
        try await withSchema { server, schema in
            let database = try Database(target(server, schema))
            try database.begin("a", at: 1000, elapsed: 50)
            let one = try database.register("one", until: 1030)
            try database.begin("new", at: 1031, elapsed: 0)
            #expect(try database.end(of: one) == 1030)
            try database.begin("a", at: 1031.5, elapsed: 50.5)
            #expect(try database.end(of: one) == 1061)
        }
    }

    @Test func writersTellTheirClocks() async throws {
        try await withSchema { server, schema in
            let store = try PostgreSQLTaskStore(target(server, schema))
            #expect(try await store.commit(StoreChange(event: event("1"))) == .committed)
            await store.close()
            let told = try server.sql("SELECT count(*) FROM \(schema).commits WHERE elapsed >= 0", database: "mix")
            #expect(told == "1")
        }
    }
}
