import MixModel
import StoreSupport
import Testing

@testable import PostgreSQLStore
@testable import TaskStore

/// The commands of docs/operations.md that back up a database and restore it on another server.
@Suite(needsPostgreSQL) struct PostgreSQLBackupTests {
    @Test(.timeLimit(.minutes(5))) func aDumpBringsTheStoreBack() async throws {
        let (lost, next) = (try PostgreSQLServer(), try PostgreSQLServer())
        defer { for server in [lost, next] { server.remove() } }
        let store = try PostgreSQLTaskStore(PostgreSQLTarget(url: lost.url()))
        let room = Room(id: "demo", settings: RoomSettings(host: "alice"))
        _ = try await store.commit(StoreChange(event: event("1"), room: .put(room, expected: 0)))
        let node = try await store.register("one", for: .seconds(600))
        let lease = try #require(try await store.claim([.lease(of: "demo")], by: node, for: .seconds(600)).first)
        let dump = lost.directory + "/mix.dump"
        try PostgreSQLServer.tool("pg_dump", ["--format=custom", "--file=\(dump)", "--dbname=\(lost.url())"])
        _ = try await store.commit(StoreChange(event: event("late")))
        await store.close()
        lost.crash()

        try PostgreSQLServer.tool("pg_restore", ["--exit-on-error", "--no-owner", "--dbname=\(next.url())", dump])
        // A node's data directory knows the cluster.
        let restored = try PostgreSQLTaskStore(PostgreSQLTarget(url: next.url()), cluster: store.cluster)
        #expect(try await restored.room("demo") == Versioned(room, version: 1))
        #expect(try await restored.events(of: "demo", limit: 9).map(\.id) == ["1"])
        // The next run of the node inherits what it had, under a new epoch.
        let again = try await restored.register("one", for: .seconds(600))
        #expect(again != node)
        let inherited = try await restored.inherit(from: node, by: again)
        #expect(inherited.map(\.task) == [lease.task] && inherited.allSatisfy { $0.fence.epoch > lease.fence.epoch })
        #expect(try await restored.commit(StoreChange(event: event("1"))) == .duplicate)
        #expect(try await restored.commit(StoreChange(event: event("2"))) == .committed)
        await restored.close()
    }
}
