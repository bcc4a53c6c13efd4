import Foundation
import StoreSupport
import Testing

/// The service with its store in a PostgreSQL database. The processes are real; there are no media.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)"))
struct DatabaseTests {
    /// Runs `body` with a service whose store is an empty schema, and the password in a file.
    private func run(
        _ server: PostgreSQLServer, _ body: (ControlStage, [String: String]) async throws -> Void
    ) async throws {
        let file = "\(server.directory)-password-\(UInt32.random(in: 0 ... .max))"
        try Data("\(PostgreSQLServer.password)\n".utf8).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let environment = [
            "MIXORCHESTRATOR_STORE_URL": server.url(password: nil, schema: try server.makeSchema()),
            "MIXORCHESTRATOR_STORE_PASSWORD_FILE": file,
        ]
        try await ControlStage.run(environment: environment) { stage in
            try await body(stage, environment)
            #expect(!stage.service.messages().contains(PostgreSQLServer.password))
        }
    }

    @Test(.timeLimit(.minutes(12))) func aServiceThatWasKilledGoesOn() async throws {
        try await run(PostgreSQLServer.shared.get()) { stage, environment in
            try await stage.makeRoom("a")
            try await stage.client.published("a", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            try await stage.settled("auto-a")
            let relays = stage.relays
            try await stage.kill()
            #expect(try await stage.start(environment: environment))
            try await stage.settled("auto-a")
            #expect(stage.relays == relays, "the relay was started again")
            let room = try await stage.client.request("GET", "/v1/rooms/a")
            #expect(room.text.contains("alice"))
            let file = stage.data.appendingPathComponent("orchestrator.sqlite").path
            #expect(!FileManager.default.fileExists(atPath: file))
        }
    }

    @Test(.timeLimit(.minutes(12))) func aDatabaseThatIsAwayIsNamedAndUsedAgain() async throws {
        let server = try PostgreSQLServer()
        defer { server.remove() }
        try await run(server) { stage, _ in
            try await stage.makeRoom("a")
            try await stage.client.published("a", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            try await stage.settled("auto-a")
            let relays = stage.relays
            server.crash()
            let event = #"{"type": "stream.published", "user": "bob", "url": "\#(ControlStage.nowhere)/live/bob"}"#
            let refused = try await stage.client.request("POST", "/v1/rooms/a/events", json: event)
            #expect(refused.status == 503, "\(refused.text)")
            #expect(refused.text.contains("store-unavailable"), "\(refused.text)")
            try await waitUntil("the service says that it is not ready") {
                try await stage.client.request("GET", "/readyz").status == 503
            }
            let ready = try await stage.client.request("GET", "/readyz")
            #expect(ready.text.contains("store"), "\(ready.text)")
            #expect(!(refused.text + ready.text).contains(PostgreSQLServer.password))
            #expect(stage.relays == relays, "programs on air go on")
            try server.start()
            try await waitUntil("the event is stored") {
                try await stage.client.request("POST", "/v1/rooms/a/events", json: event).status < 300
            }
        }
    }

    /// Runs the program with the store at `url` until it ends.
    private func program(
        _ arguments: [String], _ url: String, data: URL
    ) async throws -> (status: Int32?, text: String) {
        let process = try ManagedProcess(
            "program", Workspace.executable("mixorchestrator"), arguments + ["--data", data.path],
            in: data.deletingLastPathComponent(), environment: ["MIXORCHESTRATOR_STORE_URL": url])
        try await waitUntil("the program ends: \(process.messages())") { !process.isRunning }
        return (process.exitStatus, process.messages())
    }

    /// The commands of docs/store.md move a store into a database and back, and the service goes on with it each time.
    @Test(.timeLimit(.minutes(12))) func aStoreMovesIntoADatabaseAndBack() async throws {
        let server = try PostgreSQLServer.shared.get()
        let (database, file) = (server.url(schema: try server.makeSchema()), "sqlite:")
        try await ControlStage.run { stage in
            func command(_ arguments: [String], _ url: String, status expected: Int32 = 0) async throws -> String {
                let (status, text) = try await program(["store"] + arguments, url, data: stage.data)
                #expect(status == expected, "\(arguments): \(text)")
                #expect(!text.contains(PostgreSQLServer.password), "\(text)")
                return text
            }
            /// The number of rows of each table.
            func rows(_ url: String) async throws -> [String: Int] {
                let lines = try await command(["check"], url).split(separator: "\n").map { $0.split(separator: " ") }
                let counts = lines.compactMap { words -> (String, Int)? in
                    guard words.count == 2, let count = Int(words[1]) else { return nil }
                    return (String(words[0]), count)
                }
                return Dictionary(counts) { $1 }
            }
            try await stage.makeRoom("a")
            try await stage.client.published("a", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            try await stage.settled("auto-a")
            await stage.service.stop(within: 60)
            let before = try await rows(file)
            #expect(before["rooms"] == 1 && before["tasks"] == 1 && before["events"] ?? 0 > 0, "\(before)")

            let empty = try await command(["check"], database)
            #expect(empty.contains("schema    empty"), "\(empty)")
            let there = try await command(["copy", "--to", "postgresql"], database)
            #expect(there.contains("copied and compared"), "\(there)")
            let free = try await command(["check"], database)
            #expect(free.contains("services  none"), "the service that has stopped holds nothing: \(free)")
            let moved = try await rows(database)
            #expect(moved == before)
            _ = try await command(["copy", "--to", "postgresql"], database, status: 1)
            let unchanged = try await rows(database)
            #expect(unchanged == before, "a database that has rows is no target")

            #expect(try await stage.start(environment: ["MIXORCHESTRATOR_STORE_URL": database]))
            try await stage.settled("auto-a")
            try await stage.client.published("a", user: "bob", url: "\(ControlStage.nowhere)/live/bob")
            await stage.service.stop(within: 60)
            try await waitUntil("no service uses the database", every: 500) {
                try await command(["check"], database).contains("services  none")
            }
            let after = try await rows(database)
            #expect(after["events"] ?? 0 > before["events"] ?? 0, "\(after)")
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(
                    at: stage.data.appendingPathComponent("orchestrator.sqlite" + suffix))
            }
            let back = try await command(["copy", "--to", "sqlite"], database)
            #expect(back.contains("copied and compared"), "\(back)")
            let returned = try await rows(file)
            #expect(returned == after)
            #expect(try await stage.start())
            let room = try await stage.client.request("GET", "/v1/rooms/a")
            #expect(room.text.contains("alice") && room.text.contains("bob"), "\(room.text)")
        }
    }

    /// A mistyped database stays as it is, and so does the schema of nodes of an earlier release.
    @Test(.timeLimit(.minutes(12))) func expelChangesNoDatabaseButThatOfItsNodes() async throws {
        let server = try PostgreSQLServer.shared.get()
        let directory = try Workspace.makeDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        func expel(_ schema: String) async throws -> (status: Int32?, text: String) {
            try await program(
                ["store", "expel", "a"], server.url(schema: schema), data: directory.appendingPathComponent("operator"))
        }
        let schema = try server.makeSchema()
        let empty = try await expel(schema)
        #expect(empty.status == 1 && empty.text.contains("is empty"), "\(empty.text)")
        #expect(try server.sql("SELECT count(*) FROM pg_tables WHERE schemaname = '\(schema)'", database: "mix") == "0")

        let made = try await program(
            ["store", "migrate"], server.url(schema: schema), data: directory.appendingPathComponent("operator"))
        #expect(made.status == 0, "\(made.text)")
        let unknown = try await expel(schema)
        #expect(unknown.status == 1 && unknown.text.contains("there is no node a"), "\(unknown.text)")
        try server.sql("DELETE FROM \(schema).schema_version WHERE number > 1", database: "mix")
        let older = try await expel(schema)
        #expect(
            older.status == 1 && older.text.contains("run the mixorchestrator of the nodes' release"), "\(older.text)")
        #expect(try server.sql("SELECT max(number) FROM \(schema).schema_version", database: "mix") == "1")
    }

    /// A database that is lost without a backup is replaced by an empty one, as docs/operations.md describes.
    @Test(.timeLimit(.minutes(12))) func aLostDatabaseIsReplacedByAnEmptyOne() async throws {
        let server = try PostgreSQLServer.shared.get()
        let (lost, empty) = (server.url(schema: try server.makeSchema()), server.url(schema: try server.makeSchema()))
        try await ControlStage.run(environment: ["MIXORCHESTRATOR_STORE_URL": lost]) { stage in
            try await stage.makeRoom("a")
            await stage.service.stop(within: 60)
            let refused = try await program(["store", "migrate"], empty, data: stage.data)
            #expect(refused.status == 1 && refused.text.contains("belongs to another cluster"), "\(refused.text)")
            try FileManager.default.removeItem(at: stage.data.appendingPathComponent("store-cluster"))
            let made = try await program(["store", "migrate"], empty, data: stage.data)
            #expect(made.status == 0, "\(made.text)")
            #expect(try await stage.start(environment: ["MIXORCHESTRATOR_STORE_URL": empty]))
            #expect(try await stage.client.request("GET", "/v1/rooms/a").status == 404)
            try await stage.makeRoom("a")
        }
    }

    /// An unusable setting is reported in one line by the program itself, and the service does not start.
    @Test(.timeLimit(.minutes(12))) func aDatabaseThatCannotBeUsedIsNamed() async throws {
        let server = try PostgreSQLServer.shared.get()
        let newer = try server.makeSchema()
        let directory = try Workspace.makeDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        func run(_ arguments: [String], _ url: String, data: String) async throws -> (status: Int32?, text: String) {
            try await program(arguments, url, data: directory.appendingPathComponent(data))
        }
        let made = try await run(["store", "migrate"], server.url(schema: newer), data: "first")
        #expect(made.status == 0, "\(made.text)")
        try server.sql("INSERT INTO \(newer).schema_version VALUES (99, now())", database: "mix")
        let data = directory.appendingPathComponent("joined")
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
        try Data("another-cluster\n".utf8).write(to: data.appendingPathComponent("store-cluster"))
        let schema = try server.makeSchema()
        for (url, data, words) in [
            (server.url(password: "wr0ng"), "a", "store.passwordFile"),
            (server.url(database: "nowhere"), "b", "create the database"),
            (server.url(schema: newer), "c", "install the version that wrote it"),
            (server.url(schema: schema), "joined", "belongs to another cluster"),
        ] {
            let (status, text) = try await run(["serve", "--listen", "127.0.0.1:0"], url, data: data)
            #expect(status != 0, "\(text)")
            let lines = text.split(separator: "\n").filter { $0.contains(words) }
            #expect(lines.count == 1, "\(words): \(text)")
            #expect(!text.contains("wr0ng") && !text.contains(PostgreSQLServer.password), "\(text)")
        }
        #expect(try server.sql("SELECT count(*) FROM pg_tables WHERE schemaname = '\(schema)'", database: "mix") == "0")
    }
}
