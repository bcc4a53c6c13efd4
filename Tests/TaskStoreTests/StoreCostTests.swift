import Foundation
import MixModel
import StoreSupport
import Synchronization
import TestSupport
import Testing

@testable import PostgreSQLStore
@testable import TaskStore

/// Measures what each request of a node costs the database, and writes the costs for `scripts/scale-model.py`. It
/// asserts nothing, since the costs depend on the machine.
///
///     MIX_STORE_COSTS=bench-out/costs.json swift test --filter StoreCostTests
@Suite(.serialized, needsPostgreSQL, .enabled(if: ProcessInfo.processInfo.environment["MIX_STORE_COSTS"] != nil))
struct StoreCostTests {
    /// Costs in µs of the primary's processor time, and waits in ms.
    private struct Costs {
        let server: PostgreSQLServer
        var values: [String: Double] = [:]

        /// Runs a body this many times and returns its cost in µs per run.
        func cost(_ times: Int, _ body: (Int) async throws -> Void) async throws -> Double {
            let before = server.processorTime()
            for time in 0..<times { try await body(time) }
            return (server.processorTime() - before) / Double(times) * 1e6
        }
    }

    @Test func whatNodesAskForCosts() async throws {
        let primary = try PostgreSQLServer()
        let standby = try PostgreSQLServer(copying: primary)
        defer { for server in [standby, primary] { server.remove() } }
        try primary.confirmWithStandby()
        let groups = Tally()
        let store = try PostgreSQLTaskStore(PostgreSQLTarget(url: primary.url()), onCommit: { _ in groups.increase() })
        var costs = Costs(server: primary)
        try await measureEvents(store, groups, &costs)
        try await measureLeases(store, &costs)
        try await measureLooks(store, &costs)
        await store.close()
        let text = try JSONSerialization.data(withJSONObject: costs.values, options: [.prettyPrinted, .sortedKeys])
        let path = try #require(ProcessInfo.processInfo.environment["MIX_STORE_COSTS"])
        try text.write(to: URL(fileURLWithPath: path))
        print(String(decoding: text, as: UTF8.self))
    }

    /// Measures events alone and in groups. The difference is the cost of a transaction.
    private func measureEvents(_ store: PostgreSQLTaskStore, _ groups: Tally, _ costs: inout Costs) async throws {
        @Sendable func change(_ room: String, _ number: Int) -> StoreChange {
            StoreChange(
                event: event("\(number)", room: RoomID(room), source: room),
                room: .put(Room(id: RoomID(room)), expected: number))
        }
        for number in 0..<200 { _ = try await store.commit(change("warm", number)) }
        let count = 4000
        let start = ContinuousClock.now
        let alone = try await costs.cost(count) { _ = try await store.commit(change("alone", $0)) }
        costs.values["commit_wait_ms"] = start.duration(to: .now).seconds / Double(count) * 1000
        let before = groups.value
        let (clients, each) = (64, 250)
        let grouped =
            try await costs.cost(1) { _ in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for client in 0..<clients {
                        group.addTask {
                            for number in 0..<each { _ = try await store.commit(change("c\(client)", number)) }
                        }
                    }
                    try await group.waitForAll()
                }
            } / Double(clients * each)
        let share = Double(groups.value - before) / Double(clients * each)
        // alone = event + commit; grouped = event + commit × share.
        let commit = max(0, (alone - grouped) / max(0.01, 1 - share))
        costs.values["commit"] = commit
        costs.values["event"] = max(0, alone - commit)
    }

    private func measureLeases(_ store: PostgreSQLTaskStore, _ costs: inout Costs) async throws {
        let node = try await store.register("one", for: .seconds(3600))
        let profile = NodeProfile(name: "one", url: "http://10.0.0.1:8080", key: "k", rooms: 1000)
        for number in 0..<1000 {
            _ = try await store.claim([.lease(of: RoomID("room\(number)"))], by: node, for: .seconds(3600))
        }
        costs.values["claim"] = try await costs.cost(1000) { number in
            _ = try await store.claim([.lease(of: RoomID("other\(number)"))], by: node, for: .seconds(3600))
        }
        costs.values["renewal"] = try await costs.cost(1000) { _ in
            _ = try await store.renew(node, for: .seconds(3600))
            try await store.announce(node, profile)
        }
        costs.values["lease_row"] = try await costs.cost(300) { _ in _ = try await store.leases(of: node) } / 2000
        costs.values["holder"] = try await costs.cost(3000) { number in
            _ = try await store.holder(of: RoomID("room\(number % 1000)"))
        }
        costs.values["subscriptions"] = try await costs.cost(2000) { _ in _ = try await store.subscriptions() }
        costs.values["hint"] = try await costs.cost(2000) { _ in await store.tell(.rooms) }
        let few = try await costs.cost(2000) { _ in _ = try await store.roster() }
        for number in 0..<500 {
            let other = try await store.register("n\(number)", for: .seconds(3600))
            try await store.announce(other, profile)
        }
        let many = try await costs.cost(500) { _ in _ = try await store.roster() }
        costs.values["roster"] = few
        costs.values["roster_row"] = max(0, many - few) / 500
    }

    private func measureLooks(_ store: PostgreSQLTaskStore, _ costs: inout Costs) async throws {
        let server = costs.server
        let number = try #require(try await store.nodes().first.flatMap { PostgreSQLLeases.number(of: $0.id) })
        try server.sql(
            """
            INSERT INTO rooms (id, version, document, live)
            SELECT 'live' || n, 1, '{}', 1 FROM generate_series(1, 100000) n;
            INSERT INTO leases (task, owner, epoch) SELECT '//live' || n, \(number), 1 FROM generate_series(1, 100000) n;
            ANALYZE
            """, database: "mix")
        func look(
            _ times: Int, _ body: @escaping @Sendable (PGConnection, Double) throws -> [TaskID]
        ) async throws -> Double {
            try await costs.cost(times) { _ in
                let found = try await store.write { try body($0, $1) }
                #expect(found.isEmpty)
            }
        }
        costs.values["look"] = try await look(1000) { try PostgreSQLRooms.orphaned(limit: 8, at: $1, $0) }
        costs.values["look_row"] =
            try await look(20) { try PostgreSQLRooms.waiting(of: [.live], limit: 8, at: $1, $0) } / 100_000
    }

    /// Measures the time from sending a hint to hearing it.
    @Test func hintsTake() async throws {
        try await withSchema { server, schema in
            let (teller, hearer) = (
                try PostgreSQLTaskStore(target(server, schema)), try PostgreSQLTaskStore(target(server, schema))
            )
            var hints = hearer.hints().makeAsyncIterator()
            _ = await hints.next()
            var times: [Double] = []
            for _ in 0..<1000 {
                let start = ContinuousClock.now
                await teller.tell(.rooms)
                _ = await hints.next()
                times.append(start.duration(to: .now).seconds * 1000)
            }
            times.sort()
            print("hints: p50 \(times[500]) ms, p99 \(times[990]) ms")
            await teller.close()
            await hearer.close()
        }
    }
}
