import Foundation

/// Measures the real service from outside: `ServiceBenchmarks PATH/TO/mixorchestrator
/// [events|calls|plans|restart|memory|playback|cluster]…`.
///
/// It starts the service on a free loopback port with a data directory of its own, and ends it. The number of requests
/// is limited, and no result is asserted.
@main
enum ServiceBenchmarks {
    static func main() async {
        raiseDescriptorLimit()
        do {
            try await run(CommandLine.arguments.dropFirst())
        } catch {
            FileHandle.standardError.write(Data("ServiceBenchmarks: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: ArraySlice<String>) async throws {
        if arguments.first == BareServer.command, let port = arguments.dropFirst().first.flatMap({ Int($0) }) {
            return try await BareServer.serve(port: port)
        }
        guard let binary = arguments.first, access(binary, X_OK) == 0 else {
            throw BenchmarkError(
                "usage: ServiceBenchmarks PATH/TO/mixorchestrator "
                    + "[events|calls|plans|restart|memory|playback|cluster]…")
        }
        let chosen = Set(arguments.dropFirst())
        let unknown = chosen.subtracting(["calls", "cluster", "events", "memory", "plans", "playback", "restart"])
        guard unknown.isEmpty else {
            throw BenchmarkError(
                "unknown: \(unknown.sorted().joined(separator: ", ")); "
                    + "known: events calls plans restart memory playback cluster"
            )
        }
        func isWanted(_ name: String) -> Bool { chosen.isEmpty || chosen.contains(name) }
        print("load generator and service share \(ProcessInfo.processInfo.activeProcessorCount) cores\n")
        if isWanted("events") { try await EventBenchmark.run(binary, count: 200_000) }
        if isWanted("calls") { try await CallBenchmark.run(binary, count: 100_000) }
        if isWanted("plans") { try await PlanBenchmark.run(binary, rooms: 1000, seconds: 20) }
        if isWanted("restart") { try await RestartBenchmark.run(binary, rooms: 10_000, relays: 100) }
        if isWanted("playback") { try await PlaybackBenchmark.run(binary, viewers: 2000, seconds: 20) }
        if isWanted("cluster") { try await ClusterBenchmark.run(binary, count: 30_000) }
        if isWanted("memory") { try await MemoryBenchmark.run(binary, events: 1_000_000, rooms: 100_000) }
    }

    /// Raises the limit of open files: a thousand relays are a thousand sockets, here and in the service, which
    /// inherits the limit.
    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
    }
}
