import Foundation
import PostgreSQLStore
import RoomService
import StoreSupport
import TaskStore
import Testing

@testable import MixOrchestrator

/// Services that open a database which others use already.
@Suite(.timeLimit(.minutes(2)), .enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)"))
struct StoreOpeningTests {
    /// Machines with the same name, and data directories at the same path, on one database.
    private struct Machines {
        let directory: String
        private(set) var settings: [String: [String]]
        let areNodes: Bool

        init(in directory: String, areNodes: Bool) throws {
            let server = try PostgreSQLServer.shared.get()
            self.directory = directory
            self.areNodes = areNodes
            settings = ["store.url": [server.url(schema: try server.makeSchema())]]
        }

        /// Returns the same machines with a name for their cluster.
        func named(_ name: String) -> Machines {
            var machines = self
            machines.settings["store.cluster"] = [name]
            return machines
        }

        func path(_ data: String) -> String { directory + "/" + data }

        func configuration(_ data: String) throws -> OrchestratorConfiguration {
            try FileManager.default.createDirectory(atPath: path(data), withIntermediateDirectories: true)
            var configuration = try testConfiguration(path(data), settings)
            configuration.store.identity = "machine /data"
            if areNodes { configuration.node = ClusterSettings(name: data, url: "http://\(data)") }
            return configuration
        }

        func start(_ data: String) async throws -> any TaskStore {
            try await StoreOpening.open(configuration(data), Metrics(), LogRecorder().logger)
        }
    }

    /// A copy of a machine has the same name and paths. Its service must not take the other one's rooms as if it were the next
    /// run of the same data directory: neither at its first start nor when it is started again.
    @Test(arguments: [true, false]) func anotherMachineOfTheSameNameIsKeptOut(isNode: Bool) async throws {
        try await withDirectory { directory in
            let machines = try Machines(in: directory, areNodes: isNode)
            let first = try await machines.start("first")
            let node = try await first.register("machine /data", for: .seconds(600))
            for _ in 0..<2 {
                await #expect { try await machines.start("second") } throws: { error in
                    "\(error)".contains("the same machine name and data directory")
                        && !"\(error)".contains(PostgreSQLServer.password)
                }
            }
            #expect(!FileManager.default.fileExists(atPath: machines.path("second/store-cluster")))
            #expect(try await first.nodes().map(\.id) == [node])
            // The next run of the first directory.
            await (try await machines.start("first")).close()
            try await first.expel(node)
            await (try await machines.start("second")).close()
            await first.close()
        }
    }

    /// A directory that was copied after its first use knows the cluster as well. Neither of the two inherits from the other
    /// while that one is at work.
    @Test(arguments: [true, false]) func aCopyOfAMemberIsKeptOut(isNode: Bool) async throws {
        try await withDirectory { directory in
            let machines = try Machines(in: directory, areNodes: isNode)
            let first = try await machines.start("first")
            try FileManager.default.copyItem(atPath: machines.path("first"), toPath: machines.path("copy"))
            let site = try #require(try machines.configuration("first").store.site(data: machines.path("first")))
            let copy = try machines.configuration("copy").store.site(data: machines.path("copy"))
            #expect(copy != nil && copy != site)
            let node = try await first.register("machine /data", at: site, for: .seconds(5))
            let service = Task {
                while !Task.isCancelled {
                    _ = try await first.renew(node, for: .seconds(5))
                    try await Task.sleep(for: .milliseconds(100))
                }
            }
            defer { service.cancel() }
            await #expect { try await machines.start("copy") } throws: { error in
                (error as? StoreError) == .copied("machine /data")
            }
            #expect(try await first.nodes().map(\.id) == [node], "nothing was written")
            // The next run of the first directory does not wait.
            await (try await machines.start("first")).close()
            // Nobody can tell the end of a machine from that of its network, so its lease has to end.
            service.cancel()
            _ = await service.result
            let next = try await machines.start("copy")
            #expect(try await next.roster().map(\.isAtWork) == [false])
            await next.close()
            await first.close()
        }
    }

    /// Without a name, the first service of another cluster is a further node of this one.
    @Test func aServiceOfAnotherClusterIsKeptOut() async throws {
        try await withDirectory { directory in
            let machines = try Machines(in: directory, areNodes: true)
            let first = try await machines.named("north").start("first")
            let other = machines.named("south")
            await #expect { try await other.start("second") } throws: { "\($0)".contains("not to south") }
            #expect(!FileManager.default.fileExists(atPath: machines.path("second/store-cluster")))
            await (try await machines.named("north").start("second")).close()
            // A node that knows the cluster starts while its configuration has no name yet.
            await (try await machines.start("first")).close()
            await first.close()
        }
    }

    @Test func onlyServicesAtWorkRenewTheirLeases() {
        func life(_ number: Int, until: Double) -> NodeAtWork {
            NodeAtWork(node: Node(id: NodeID("a#\(number)"), name: "a"), site: "boot", until: until)
        }
        var watch = LeaseWatch()
        #expect(watch.look([life(1, until: 30)]) == nil)
        #expect(watch.look([life(1, until: 30)]) == false)
        // The server's clock was set back.
        #expect(watch.look([life(1, until: 20)]) == false)
        #expect(watch.look([life(1, until: 25)]) == true)
        #expect(watch.look([life(1, until: 25), life(2, until: 24)]) == true)
    }
}
