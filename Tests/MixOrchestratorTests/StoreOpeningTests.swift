import Foundation
import RoomService
import StoreSupport
import TaskStore
import Testing

@testable import MixOrchestrator

/// Services that open a database which others use already.
@Suite(.timeLimit(.minutes(2)), .enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)"))
struct StoreOpeningTests {
    /// A copy of a machine has the same name and paths. Its service must not take the other one's rooms as if it were the next
    /// run of the same data directory: neither at its first start nor when it is started again.
    @Test(arguments: [true, false]) func anotherMachineOfTheSameNameIsKeptOut(isNode: Bool) async throws {
        try await withDirectory { directory in
            let server = try PostgreSQLServer.shared.get()
            let settings = ["store.url": [server.url(schema: try server.makeSchema())]]
            func start(_ data: String) async throws -> any TaskStore {
                let path = directory + "/" + data
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
                var configuration = try testConfiguration(path, settings)
                configuration.store.identity = "machine /data"
                if isNode { configuration.node = ClusterSettings(name: data, url: "http://\(data)") }
                return try await StoreOpening.open(configuration, Metrics(), LogRecorder().logger)
            }
            let first = try await start("first")
            let node = try await first.register("machine /data", for: .seconds(600))
            for _ in 0..<2 {
                await #expect { try await start("second") } throws: { error in
                    "\(error)".contains("the same machine name and data directory")
                        && !"\(error)".contains(PostgreSQLServer.password)
                }
            }
            #expect(!FileManager.default.fileExists(atPath: directory + "/second/store-cluster"))
            #expect(try await first.nodes().map(\.id) == [node])
            // The next run of the first directory.
            await (try await start("first")).close()
            try await first.expel(node)
            await (try await start("second")).close()
            await first.close()
        }
    }
}
