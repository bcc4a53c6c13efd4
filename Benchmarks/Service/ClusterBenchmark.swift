import Foundation
import StoreSupport

/// Measures what several nodes on one database store, beside one service with its store in a file, and what another node
/// costs those that are there.
enum ClusterBenchmark {
    private static let connections = 63
    /// Least part of the single service's events per second.
    private static let leastShare = 0.25
    /// Greatest 99th percentile of a client's wait, in ms.
    private static let longestWait = 60.0
    private static let rounds = 3
    /// Events per second, and for how many seconds, when nodes are added.
    private static let (pace, seconds) = (300, 10)

    static func run(_ binary: String, count: Int) async throws {
        guard PostgreSQLServer.isInstalled else { return print("cluster: skipped: \(PostgreSQLServer.missing)") }
        let primary = try PostgreSQLServer()
        let standby = try PostgreSQLServer(copying: primary)
        defer { for server in [standby, primary] { server.remove() } }
        try primary.confirmWithStandby()
        let alone = try Server(binary)
        var nodes: [Server] = []
        defer { for server in nodes + [alone] { server.stop() } }
        let database = [primary, standby]

        print("nodes that are added, \(pace) events/s at the first one\n")
        print("| nodes | first node | database | each other node, idle | under load |")
        print("|---|---|---|---|---|")
        for name in ["a", "b", "c"] {
            let node = try Server(binary, node: (name, primary.url()))
            nodes.append(node)
            try await node.start()
            if nodes.count == 1 { _ = try await measure(nodes, database, events: 5000) }
            try await printRow(nodes, database)
        }

        try await alone.start()
        _ = try await measure([alone], [], events: min(count, 10_000))
        _ = try await measure(nodes, database, events: min(count, 10_000))
        print("\ndurable events of \(connections) connections, three rounds by turns\n")
        print("| | events/s | p50 | p99 | services | database |")
        print("|---|---|---|---|---|---|")
        var shares: [Double] = []
        var waits: [Double] = []
        for _ in 0..<rounds {
            let single = try await measure([alone], [], events: count)
            let shared = try await measure(nodes, database, events: count)
            print("| one service, SQLite | \(single.row)")
            print("| three nodes, PostgreSQL with a synchronous standby | \(shared.row)")
            shares.append(shared.rate / single.rate)
            waits.append(shared.p99)
        }
        let (share, wait) = (shares.sorted()[rounds / 2], waits.sorted()[rounds / 2])
        print(
            """

            cluster: \(String(format: "%.2f", share)) of the single service's events (the limit is \(leastShare): \
            \(share >= leastShare ? "kept" : "MISSED")), p99 \(String(format: "%.0f", wait)) ms (the limit is \
            \(Int(longestWait)): \(wait <= longestWait ? "kept" : "MISSED"))
            """)
    }

    /// Durable events, the waits of clients in ms, and processor time per event in µs.
    private struct Figures {
        var rate: Double
        var p50: Double
        var p99: Double
        var services: Double
        var database: Double

        var row: String {
            String(format: "%.0f | %.1f ms | %.1f ms | %.0f µs | %.0f µs |", rate, p50, p99, services, database)
        }
    }

    /// Sends events to each server about rooms of its own, all at once.
    private static func measure(
        _ servers: [Server], _ database: [PostgreSQLServer], events: Int, pace: Int? = nil
    ) async throws -> Figures {
        let before = (time(of: servers), time(of: database))
        let ports = servers.map(\.port)
        let results = try await withThrowingTaskGroup(of: Load.Result.self) { group in
            for (index, port) in ports.enumerated() {
                group.addTask {
                    try await EventBenchmark.rate(
                        Load(port: port, connections: connections / ports.count), events: events / ports.count,
                        batch: 1,
                        pace: pace, prefix: "node\(index)-"
                    ).result
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let stored = results.reduce(0) { $0 + ($1.statuses[202] ?? 0) }
        guard stored > 0 else { throw BenchmarkError("no event was stored: \(results.map(\.statuses))") }
        let waits = Latencies(results.flatMap(\.latencies))
        return Figures(
            rate: Double(stored) / (results.map(\.seconds).max() ?? 1), p50: waits.percentile(50),
            p99: waits.percentile(99), services: (time(of: servers) - before.0) / Double(stored) * 1e6,
            database: (time(of: database) - before.1) / Double(stored) * 1e6)
    }

    private static func time(of servers: [Server]) -> Double { servers.reduce(0) { $0 + $1.processorTime() } }
    private static func time(of servers: [PostgreSQLServer]) -> Double {
        servers.reduce(0) { $0 + $1.processorTime() }
    }

    /// Prints what an event at the first node costs each part.
    private static func printRow(_ nodes: [Server], _ database: [PostgreSQLServer]) async throws {
        let others = Array(nodes.dropFirst())
        /// Processor time of the others while `body` runs, in ms per second and node.
        func costOfOthers(_ body: () async throws -> Void) async throws -> Double {
            let (before, start) = (time(of: others), monotonicTime())
            try await body()
            let elapsed = Double(monotonicTime() - start) / 1e9
            return (time(of: others) - before) / elapsed / Double(max(1, others.count)) * 1e3
        }
        let idle = try await costOfOthers { try await Task.sleep(for: .seconds(seconds)) }
        var figures: Figures?
        let loaded = try await costOfOthers {
            figures = try await measure([nodes[0]], database, events: pace * seconds, pace: pace)
        }
        guard let figures else { return }
        let costs = others.isEmpty ? "– | – |" : String(format: "%.1f ms/s | %.1f ms/s |", idle, loaded)
        print(
            "| \(nodes.count) | "
                + String(format: "%.0f µs/event | %.0f µs/event | ", figures.services, figures.database) + costs)
    }
}
