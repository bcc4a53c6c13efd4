import Foundation
import StoreSupport
import Synchronization

@testable import ViewerProbe

/// Two nodes on one database, a media server that is also the CDN, and a publisher. The processes are real.
final class ClusterStage: Sendable {
    /// A node: its service, and the directory that identifies its workers.
    struct Node: Sendable {
        let name: String
        let data: String
        let client: ServiceClient
        let service: ManagedProcess
        /// Port of its RTMP ingest; `nil` if it has none.
        let ingest: Int?

        /// The service and all of its workers.
        var processes: [Int32] {
            let workers = ProcessTable.entries().filter { entry in
                entry.arguments.contains { $0.hasPrefix(data) }
            }.map(\.identifier)
            return Array(
                Set(
                    (service.isRunning ? [service.identifier] : []) + workers
                        + workers.flatMap { worker in
                            ProcessTable.descendants(of: worker).map(\.identifier)
                        }))
        }

        /// The running relays.
        var relays: [Int32] {
            ProcessTable.entries().filter { entry in
                entry.arguments.contains("relay") && entry.arguments.contains { $0.hasPrefix(data) }
            }.map(\.identifier)
        }

        /// Log of its relays.
        var relayLog: String {
            let directory = data + "/relays"
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            return names.filter { $0.hasSuffix(".log") }.map { ManagedProcess.text(of: directory + "/" + $0) }.joined()
        }

        /// Log of its ingest.
        var ingestLog: String { ManagedProcess.text(of: data + "/ingest/ingest.log") }

        /// Kills every process at once, like the loss of the machine.
        func destroy() {
            // The service comes first, because it would replace a worker that has ended.
            service.kill9()
            for process in processes { kill(process, SIGKILL) }
        }
        func freeze(_ isFrozen: Bool) { for process in processes { kill(process, isFrozen ? SIGSTOP : SIGCONT) } }
    }

    let directory: URL
    let media: MediaServer
    let a: Node
    let b: Node
    /// URL of the stream that every room shows.
    var source: String { media.live("alice") }
    // The publisher is small: its pictures are counted, not inspected.
    private static let alice = SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1)
    private let environment: [String: String]
    private let hasIngests: Bool
    private let publisher: ManagedProcess
    private let later = Mutex<(nodes: [Node], publishers: [ManagedProcess])>(([], []))
    private let recorders = Mutex<[ProbeRecorder]>([])

    /// - Parameters:
    ///   - settings: Further settings of all nodes, as environment variables without their prefix.
    ///   - database: The server of the nodes' database; `nil` = one that other tests use, too.
    ///   - hasPlainLayouts: Whether panes have no gaps and transitions, so that small ones can be read.
    static func run(
        lease: Int, hasIngests: Bool = false, settings: [String: String] = [:], database: PostgreSQLServer? = nil,
        hasPlainLayouts: Bool = false,
        _ body: (ClusterStage) async throws -> Void
    ) async throws {
        let directory = try Workspace.makeDirectory()
        let media = try await MediaServer.start(in: directory)
        let stage: ClusterStage
        do {
            stage = try await ClusterStage(
                directory, media, lease: lease, hasIngests: hasIngests, settings, database: database,
                hasPlainLayouts: hasPlainLayouts)
        } catch {
            await media.stop()
            throw error
        }
        do {
            try await body(stage)
        } catch {
            for node in stage.nodes {
                print("--- \(node.name)\n\(node.service.messages())\n\(node.relayLog)\n\(node.ingestLog)")
            }
            for publisher in [stage.publisher] + stage.later.withLock({ $0.publishers }) {
                print("--- \(publisher.name), \(publisher.exitStatus.map { "ended with \($0)" } ?? "running")")
                print(publisher.messages(last: 20))
            }
            await stage.stop()
            throw error
        }
        await stage.stop()
        try? FileManager.default.removeItem(at: directory)
    }

    /// Starts a node's service again, after it was killed.
    func restart(_ node: Node) async throws -> Node {
        node.service.kill9()
        try await waitUntil("node \(node.name) has ended") { !node.service.isRunning }
        let again = try await Self.start(
            node.name, in: directory, environment, hasIngest: hasIngests, ingestPort: node.ingest)
        later.withLock { $0.nodes.append(again) }
        return again
    }

    /// Stops a node's service as an upgrade does, and starts it again.
    func upgrade(_ node: Node) async throws -> Node {
        await node.service.stop(within: 60)
        guard node.service.exitStatus == 0 else { throw EndToEndError("\(node.name): \(node.service.messages())") }
        return try await restart(node)
    }

    /// Starts another node.
    func start(_ name: String) async throws -> Node {
        let node = try await Self.start(name, in: directory, environment, hasIngest: hasIngests)
        later.withLock { $0.nodes.append(node) }
        return node
    }

    private var nodes: [Node] { [a, b] + later.withLock { $0.nodes } }

    /// Starts a publisher at a node's own ingest.
    func publish(_ name: String, at node: Node) throws -> ManagedProcess {
        guard let port = node.ingest else { throw EndToEndError("node \(node.name) has no ingest") }
        let number = later.withLock { $0.publishers.count }
        let process = try ManagedProcess(
            "publisher-\(name)-\(node.name)-\(number)", "ffmpeg",
            Self.alice.arguments(url: "rtmp://127.0.0.1:\(port)/live/\(name)"), in: directory)
        later.withLock { $0.publishers.append(process) }
        return process
    }

    private init(
        _ directory: URL, _ media: MediaServer, lease: Int, hasIngests: Bool, _ settings: [String: String],
        database: PostgreSQLServer?, hasPlainLayouts: Bool
    ) async throws {
        self.hasIngests = hasIngests
        self.directory = directory
        self.media = media
        try FileManager.default.copyItem(
            at: Workspace.root.appendingPathComponent("layouts"), to: directory.appendingPathComponent("layouts"))
        if hasPlainLayouts { try PlainLayouts.put(in: directory.appendingPathComponent("layouts")) }
        let server = try database ?? PostgreSQLServer.shared.get()
        var environment = [
            "MIXORCHESTRATOR_STORE_URL": server.url(schema: try server.makeSchema()),
            "MIXORCHESTRATOR_ADMISSION_CORES": "0", "MIXORCHESTRATOR_OVERLOAD_HIGHEST_LEVEL": "0",
            "MIXORCHESTRATOR_NODE_LEASE_SECONDS": "\(lease)", "MIXORCHESTRATOR_NODE_DRAIN_SECONDS": "150",
            // The log of a crashing node contains the place of the crash.
            "SWIFT_BACKTRACE": "enable=yes,color=no,interactive=no,images=none,registers=none",
        ]
        // No other URL is allowed; relays pull from the nodes' ingests nevertheless.
        if hasIngests { environment["MIXORCHESTRATOR_SOURCES_ALLOW"] = "rtmp://media.example" }
        for (name, value) in settings { environment["MIXORCHESTRATOR_\(name)"] = value }
        self.environment = environment
        a = try await Self.start("a", in: directory, environment, hasIngest: hasIngests)
        b = try await Self.start("b", in: directory, environment, hasIngest: hasIngests)
        let publisher = try ManagedProcess(
            "publisher", "ffmpeg", Self.alice.arguments(url: media.live("alice")), in: directory)
        self.publisher = publisher
        let stat = ServiceClient(port: media.httpPort)
        try await waitUntil("alice publishes\n\(publisher.messages())") {
            guard publisher.isRunning else { throw EndToEndError("the publisher ended: \(publisher.messages())") }
            return try await stat.request("GET", "/stat").text.contains("<name>alice</name>")
        }
    }

    private static func start(
        _ name: String, in directory: URL, _ environment: [String: String], hasIngest: Bool,
        ingestPort: Int? = nil
    ) async throws -> Node {
        // The port is chosen here and bound by the service a moment later: another process may be faster.
        for _ in 0..<5 {
            let port = HookingMediaServer.anyPort()
            let data = directory.appendingPathComponent("data-\(name)").path
            var own = ["MIXORCHESTRATOR_NODE_ID": name, "MIXORCHESTRATOR_NODE_URL": "http://127.0.0.1:\(port)"]
            let ingest = hasIngest ? ingestPort ?? HookingMediaServer.anyPort() : nil
            if let ingest {
                own["MIXORCHESTRATOR_INGEST_RTMP_LISTEN"] = "127.0.0.1:\(ingest)"
                own["MIXORCHESTRATOR_INGEST_RTMP_ADVERTISE"] = "127.0.0.1:\(ingest)"
            }
            // Each start has its own log, because the log of a killed service is still read.
            let service = try ManagedProcess(
                "node-\(name)-\(port)", Workspace.executable("mixorchestrator"),
                [
                    "serve", "--listen", "127.0.0.1:\(port)", "--data", data, "--layouts",
                    directory.appendingPathComponent("layouts").path,
                ], in: directory, environment: environment.merging(own) { $1 })
            let client = ServiceClient(port: port)
            try await waitUntil("node \(name) answers\n\(service.messages())") {
                if !service.isRunning { return true }
                return (try? await client.request("GET", "/readyz").status) == 200
            }
            if service.isRunning {
                // The service answers before its ingest is started.
                if let ingest {
                    try await waitUntil("the ingest of \(name) listens\n\(service.messages())") {
                        HookingMediaServer.isServed(ingest)
                    }
                }
                return Node(name: name, data: data, client: client, service: service, ingest: ingest)
            }
            guard service.messages().contains("is in use") else { throw EndToEndError(service.messages()) }
        }
        throw EndToEndError("node \(name) does not start on five ports")
    }

    /// Runs `mixorchestrator store expel`.
    func expel(_ node: Node) async throws {
        let process = try ManagedProcess(
            "expel", Workspace.executable("mixorchestrator"),
            ["store", "expel", node.name, "--data", directory.appendingPathComponent("data-operator").path],
            in: directory, environment: environment.filter { $0.key == "MIXORCHESTRATOR_STORE_URL" })
        try await waitUntil("store expel has ended: \(process.messages())") { !process.isRunning }
        guard process.exitStatus == 0 else { throw EndToEndError(process.messages()) }
    }

    /// Starts a viewer who records; returns when the stream arrives.
    func record(_ url: String, as name: String) async throws -> ProbeRecorder {
        let recorder = ProbeRecorder(url: url, path: directory.appendingPathComponent("\(name).flv").path)
        recorders.withLock { $0.append(recorder) }
        try recorder.start()
        try await waitUntil("a viewer of \(url) gets the stream: \(recorder.progress)") { recorder.progress.tags > 4 }
        return recorder
    }

    /// Returns when this node reports the room's program as on air.
    func waitForOnAir(_ kind: String, at node: Node, within seconds: Double = patience) async throws {
        var last = "no task"
        try await waitUntil("\(kind) on air at \(node.name): \(last)", within: seconds) {
            guard let task = try? await node.client.task("demo") else { return false }
            last = String(decoding: task.json, as: UTF8.self)
            return task.state.onAir == kind
        }
    }

    /// Returns when a viewer has received about two more seconds of a stream with pictures and sound.
    func sees(_ viewer: ProbeRecorder, _ when: String) async throws {
        let before = viewer.progress.tags
        try await waitUntil("the viewer sees more \(when): \(viewer.progress), \(before) tags before") {
            viewer.progress.tags > before + 120
        }
    }

    private func stop() async {
        for recorder in recorders.withLock({ $0 }) { recorder.stop() }
        for publisher in later.withLock({ $0.publishers }) { await publisher.stop(within: 3) }
        for node in nodes {
            node.freeze(false)
            node.destroy()
        }
        await publisher.stop()
        await media.stop()
    }
}
