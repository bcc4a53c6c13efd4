import Foundation
import Synchronization
import TaskStore
import EncodedMedia
import PostgreSQLStore

/// A service with real relays but nothing to pull from or push to, for tests that need no media.
final class ControlStage: Sendable {
    let directory: URL
    let client: ServiceClient
    private let current: Mutex<ManagedProcess>

    /// An address without a listener.
    static let nowhere = "rtmp://127.0.0.1:1"

    var data: URL { directory.appendingPathComponent("data") }
    var service: ManagedProcess { current.withLock { $0 } }

    /// Runs `body` with a service, and leaves no process behind.
    ///
    /// - Parameters:
    ///   - environment: Settings of the first start.
    ///   - descriptors: Files that the service of the first start may have open; `nil` for as many as this process.
    static func run<Value: Sendable>(
        environment: [String: String] = [:], descriptors: Int? = nil, _ body: (ControlStage) async throws -> Value
    ) async throws -> Value {
        let stage = try await ControlStage(environment, descriptors)
        do {
            let value = try await body(stage)
            await stage.end()
            try? FileManager.default.removeItem(at: stage.directory)
            return value
        } catch {
            print("--- kept: \(stage.directory.path)\n\(stage.service.messages())")
            await stage.end()
            throw error
        }
    }

    private init(_ environment: [String: String], _ descriptors: Int?) async throws {
        directory = try Workspace.makeDirectory()
        try FileManager.default.createDirectory(
            at: directory.appendingPathComponent("layouts"), withIntermediateDirectories: true)
        var started: (process: ManagedProcess, port: Int)?
        // The port is chosen here and bound by the service a moment later: another process may be faster.
        for _ in 0..<5 where started == nil {
            let port = HookingMediaServer.anyPort()
            let process = try Self.launch(
                in: directory, port: port, environment: environment, descriptors: descriptors)
            if try await Self.isReady(process, port) || !process.messages().contains("is in use") {
                started = (process, port)
            }
        }
        guard let started else { throw EndToEndError("mixorchestrator does not start on five ports") }
        client = ServiceClient(port: started.port)
        current = Mutex(started.process)
    }

    private static func launch(
        in directory: URL, port: Int, environment: [String: String], arguments: [String] = [], descriptors: Int? = nil
    ) throws -> ManagedProcess {
        let program = try Workspace.executable("mixorchestrator")
        let shell = descriptors.map { ["-c", "ulimit -n \($0); exec \"$0\" \"$@\"", program] }
        return try ManagedProcess(
            "service-\(UInt16.random(in: 0 ... .max))", shell == nil ? program : "/bin/sh",
            (shell ?? []) + [
                "serve", "--listen", "127.0.0.1:\(port)", "--data", directory.appendingPathComponent("data").path,
                "--layouts", directory.appendingPathComponent("layouts").path,
            ] + arguments, in: directory,
            // Other load on the machine must not decide a test. Without outputs, a room has no program.
            environment: [
                "MIXORCHESTRATOR_ADMISSION_CORES": "0", "MIXORCHESTRATOR_OVERLOAD_HIGHEST_LEVEL": "0",
                "MIXORCHESTRATOR_ROOMS_OUTPUTS": "",
            ].merging(environment) { $1 })
    }

    /// Returns whether the service answers; false if the process ended first.
    private static func isReady(_ process: ManagedProcess, _ port: Int) async throws -> Bool {
        var isReady = false
        try await waitUntil("mixorchestrator answers\n\(process.messages())", every: 10) {
            guard process.isRunning else { return true }
            isReady = (try? await ServiceClient(port: port).request("GET", "/readyz").status) == 200
            return isReady
        }
        return isReady
    }

    /// Starts the service again with the same data. Returns when it answers, or has ended.
    @discardableResult
    func start(environment: [String: String] = [:], arguments: [String] = []) async throws -> Bool {
        let process = try Self.launch(
            in: directory, port: client.port, environment: environment, arguments: arguments)
        current.withLock { $0 = process }
        let isReady = try await Self.isReady(process, client.port)
        if !isReady { print("--- the service has ended\n\(process.messages())") }
        return isReady
    }

    func kill() async throws {
        let service = service
        service.kill9()
        try await waitUntil("the service is gone", every: 5) { !service.isRunning }
    }

    /// Relays of this stage's data directory by task, including those whose service is gone.
    var relays: [String: [Int32]] {
        let sockets = data.appendingPathComponent("relays").path
        return ProcessTable.entries().reduce(into: [:]) { relays, entry in
            guard entry.arguments.dropFirst().first == "relay",
                entry.arguments.contains(where: { $0.hasPrefix(sockets) }),
                let flag = entry.arguments.firstIndex(of: "--task"), entry.arguments.indices.contains(flag + 1)
            else { return }
            relays[entry.arguments[flag + 1], default: []].append(entry.identifier)
        }
    }

    /// Gives access to the stored state while no service runs.
    ///
    /// - Parameter database: URL of the service's database; `nil` = its store is a file.
    func withStore<Value>(
        at database: String? = nil, _ body: (any TaskStore) async throws -> Value
    ) async throws -> Value {
        let store: any TaskStore
        if let database {
            store = try PostgreSQLTaskStore(PostgreSQLTarget(url: database))
        } else {
            store = try SQLiteTaskStore(path: data.appendingPathComponent("orchestrator.sqlite").path)
        }
        do {
            let value = try await body(store)
            await store.close()
            return value
        } catch {
            await store.close()
            throw error
        }
    }

    /// A small canvas, so that a mixer with an empty room costs almost nothing.
    static let canvas = #""canvas": {"width": 64, "height": 64, "fps": 1}"#

    func makeRoom(_ room: String, outputs: [String] = ["main"]) async throws {
        let list = outputs.map { #"{"id": "\#($0)", "url": "\#(Self.nowhere)/\#(room)/\#($0)"}"# }
        let answer = try await client.request(
            "PUT", "/v1/rooms/\(room)", json: "{\"outputs\": [\(list.joined(separator: ","))], \(Self.canvas)}")
        guard (200..<300).contains(answer.status) else { throw EndToEndError(answer.text) }
    }

    /// Returns when the task's relay has its newest plan.
    @discardableResult
    func settled(_ task: String) async throws -> [String: any Sendable] {
        var state: [String: any Sendable] = [:]
        try await waitUntil("\(task) is settled", every: 20) {
            guard let settled = try await stateIfSettled(task) else { return false }
            state = settled
            return true
        }
        return state
    }

    /// Returns the task as the API reports it, if its relay has its newest plan.
    func stateIfSettled(_ task: String) async throws -> [String: any Sendable]? {
        guard let answer = try? await client.request("GET", "/v1/tasks/\(task)"), answer.status == 200,
            let state = try JSONSerialization.jsonObject(with: answer.body) as? [String: any Sendable],
            state["state"] as? String == "running", let applied = state["appliedRevision"] as? Int,
            applied == state["revision"] as? Int
        else { return nil }
        return state
    }

    private func end() async {
        await service.stop()
        for process in relays.values.joined() { Foundation.kill(process, SIGKILL) }
    }
}
