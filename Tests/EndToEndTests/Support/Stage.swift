import Foundation
import LayoutEngine
import Synchronization

@testable import ViewerProbe

/// The processes of one end-to-end test: media server, service, publishers, one room, and a viewer who records.
final class Stage: Sendable {
    let directory: URL
    let media: MediaServer
    let client: ServiceClient
    /// The service's own copy, which tests may change.
    let layouts: URL
    let room = "demo"
    let canvas: Canvas
    let layout: String

    private let environment: [String: String]

    private struct State {
        var service: ManagedProcess
        var publishers: [String: (process: ManagedProcess, source: SyntheticPublisher)] = [:]
        var known: [SyntheticPublisher] = []
        var scenes: Set<Scene> = []
        var recorders: [ProbeRecorder] = []
        var strays: Set<Int32> = []
    }
    private let state: Mutex<State>

    /// The running process of the service.
    var service: ManagedProcess { state.withLock { $0.service } }

    /// Runs `body` on a stage, and always takes the stage down. If `body` throws, the messages of every process are
    /// printed first, and the directory stays; `E2E_KEEP=1` always keeps it.
    ///
    /// - Parameter environment: The environment of the service and its workers; `%STAGE%` in a value is the stage's
    ///   directory.
    static func run(
        canvas: Canvas = .portrait, layout: String = "side-by-side", environment: [String: String] = [:],
        _ body: (Stage) async throws -> Void
    ) async throws {
        let directory = try Workspace.makeDirectory()
        let media = try await MediaServer.start(in: directory)
        let stage: Stage
        do {
            stage = try await Stage(
                directory: directory, media: media, canvas: canvas, layout: layout,
                environment: environment.mapValues { $0.replacing("%STAGE%", with: directory.path) })
        } catch {
            await media.stop()
            throw error
        }
        do {
            try await body(stage)
        } catch {
            stage.printMessages()
            await stage.stop()
            throw error
        }
        await stage.stop()
        if ProcessInfo.processInfo.environment["E2E_KEEP"] == "1" {
            print("kept: \(directory.path)")
        } else {
            try? FileManager.default.removeItem(at: directory)
        }
    }

    private init(
        directory: URL, media: MediaServer, canvas: Canvas, layout: String, environment: [String: String]
    ) async throws {
        MachineWatch.shared.begin()
        self.directory = directory
        self.media = media
        self.canvas = canvas
        self.layout = layout
        // The machine also carries publishers, a media server and viewers: the program under test must not yield to
        // them.
        self.environment = [
            "MIXORCHESTRATOR_ADMISSION_CORES": "0", "MIXORCHESTRATOR_OVERLOAD_HIGHEST_LEVEL": "0",
        ].merging(environment) { $1 }
        layouts = directory.appendingPathComponent("layouts")
        try FileManager.default.copyItem(at: Workspace.root.appendingPathComponent("layouts"), to: layouts)
        try PlainLayouts.put(in: layouts)
        var started: (process: ManagedProcess, port: Int)?
        var said = ""
        // The port is chosen here and bound by the service a moment later: another process may be faster.
        for _ in 0..<5 where started == nil {
            let port = HookingMediaServer.anyPort()
            let process = try await Stage.startService(in: directory, port: port, environment: self.environment)
            if process.isRunning { started = (process, port) } else { said = process.messages() }
        }
        guard let started else { throw EndToEndError("mixorchestrator does not start on five ports\n\(said)") }
        state = Mutex(State(service: started.process))
        client = ServiceClient(port: started.port)
    }

    /// Returns when the service answers or has ended.
    private static func startService(
        in directory: URL, port: Int, name: String = "mixorchestrator", environment: [String: String]
    ) async throws -> ManagedProcess {
        let process = try ManagedProcess(
            name, Workspace.executable("mixorchestrator"),
            [
                "serve", "--listen", "127.0.0.1:\(port)", "--data", directory.appendingPathComponent("data").path,
                "--layouts", directory.appendingPathComponent("layouts").path,
            ], in: directory, environment: environment)
        let client = ServiceClient(port: port)
        try await waitUntil("mixorchestrator answers\n\(process.messages())") {
            if !process.isRunning { return true }
            return (try? await client.request("GET", "/healthz").status) == 200
        }
        return process
    }

    /// Kills the service without warning.
    func killService() async throws {
        let service = service
        service.kill9()
        try await waitUntil("the service is gone") { !service.isRunning }
    }

    /// Starts the service again with the same data on the same port. Returns when it answers.
    ///
    /// - Parameter changes: Environment variables that differ from the previous start.
    func startServiceAgain(changing changes: [String: String] = [:]) async throws {
        let process = try await Stage.startService(
            in: directory, port: client.port, name: "mixorchestrator-\(UInt16.random(in: 0...9999))",
            environment: environment.merging(changes) { $1 })
        guard process.isRunning else { throw EndToEndError("the service does not start again: \(process.messages())") }
        state.withLock { $0.service = process }
    }

    // MARK: Publishers

    /// Starts to push `source` as `name`. Returns when its stream can be pulled.
    func publish(_ name: String, _ source: SyntheticPublisher) async throws {
        let process = try publish(name, source, to: media.live(name))
        let stat = ServiceClient(port: media.httpPort)
        try await waitUntil("\(name) publishes\n\(process.messages())") {
            guard process.isRunning else { throw EndToEndError("publisher \(name) ended: \(process.messages())") }
            let text = try await stat.request("GET", "/stat").text
            return text.contains("<name>\(name)</name>") && text.contains("<profile>")
        }
    }

    /// Starts to push `source` to any server.
    @discardableResult
    func publish(_ name: String, _ source: SyntheticPublisher, to url: String) throws -> ManagedProcess {
        let process = try ManagedProcess("publisher-\(name)", "ffmpeg", source.arguments(url: url), in: directory)
        state.withLock { state in
            state.publishers[name] = (process, source)
            if !state.known.contains(where: { $0.id == source.id }) { state.known.append(source) }
        }
        return process
    }

    /// Registers a source that is published by other means, for `judge`.
    func knows(_ source: SyntheticPublisher) {
        state.withLock { state in
            if !state.known.contains(where: { $0.id == source.id }) { state.known.append(source) }
        }
    }

    /// Pushes content other than a synthetic source as `name`, with these codecs of ffmpeg.
    func publish(_ name: String, codecs: [String]) throws -> ManagedProcess {
        let inputs = ["-re", "-f", "lavfi", "-i", "testsrc=s=320x240:r=20", "-re", "-f", "lavfi", "-i", "sine=r=44100"]
        return try ManagedProcess(
            "publisher-\(name)", "ffmpeg",
            ["-hide_banner", "-nostdin", "-nostats", "-loglevel", "warning"] + inputs + codecs
                + ["-pix_fmt", "yuv420p", "-f", "flv", media.live(name)], in: directory)
    }

    func stopPublishing(_ name: String) async {
        let process = state.withLock { $0.publishers.removeValue(forKey: name)?.process }
        await process?.stop()
    }

    /// Stops a publisher's process at its current frame, or resumes it.
    func holdPublisher(_ name: String, _ isHeld: Bool) throws {
        guard let process = state.withLock({ $0.publishers[name]?.process }) else {
            throw EndToEndError("no publisher \(name)")
        }
        kill(process.identifier, isHeld ? SIGSTOP : SIGCONT)
    }

    // MARK: Room

    /// Creates the room with `host` on air, and returns when the program is a bypass of it.
    func open(host: String) async throws {
        try await client.putRoom(room, host: host, output: media.cdn(room), layout: layout, canvas: canvas)
        try await client.published(room, user: host, url: media.live(host), role: "host")
        try await waitForOnAir("bypass")
    }

    /// Creates the room with its output alone, for participants who come by themselves.
    ///
    /// - Parameter query: Query of the request, such as `?app=shop`.
    func makeRoom(query: String = "") async throws {
        let answer = try await client.request(
            "PUT", "/v1/rooms/\(room)\(query)",
            json: #"{"outputs": [{"id": "cdn", "url": "\#(media.cdn(room))"}]}"#)
        guard (200..<300).contains(answer.status) else { throw EndToEndError(answer.text) }
    }

    func join(_ user: String) async throws {
        try await client.published(room, user: user, url: media.live(user))
    }

    func leave(_ user: String) async throws {
        try await client.unpublished(room, user: user)
    }

    /// Suspends until the program is of this kind and, in a mix, shows exactly these users.
    ///
    /// - Parameter name: Name of the task; `nil` for the room's own.
    @discardableResult
    func waitForOnAir(
        _ kind: String, users: Set<String>? = nil, task name: String? = nil, within seconds: Double = patience
    ) async throws -> ServiceClient.TaskState {
        var last: ServiceClient.TaskState?
        do {
            try await waitUntil("on air", within: seconds) {
                guard let task = try await client.task(room, name: name) else { return false }
                last = task.state
                try noteScenes(task.json)
                return task.state.onAir == kind && (users.map { $0 == task.state.users } ?? true)
            }
        } catch is EndToEndError {
            throw EndToEndError(
                "not \(kind) \(users?.sorted() ?? []) within \(seconds) s; on air: \(last?.onAir ?? "nothing") "
                    + "\(last?.users.sorted() ?? []), \(last?.lastError ?? "no error")")
        }
        guard let last else { throw EndToEndError("no task") }
        return last
    }

    private func noteScenes(_ task: Data) throws {
        let scenes = try SceneDocument.scenes(task, canvas: canvas)
        state.withLock { $0.scenes.formUnion(scenes) }
    }

    /// Deletes the room and returns when its relay has ended by itself.
    func close() async throws {
        let relay = try relay()
        try await client.deleteRoom(room)
        try await waitUntil("the relay has ended") {
            !ProcessTable.descendants(of: self.service.identifier).contains { $0.identifier == relay }
        }
    }

    // MARK: Viewer

    /// Starts a viewer of `url` that records into `name`.flv. Returns when the first bytes have arrived.
    func record(_ url: String, as name: String) async throws -> ProbeRecorder {
        let recorder = ProbeRecorder(url: url, path: directory.appendingPathComponent("\(name).flv").path)
        state.withLock { $0.recorders.append(recorder) }
        try recorder.start()
        try await waitUntil("a viewer of \(url) gets the stream: \(recorder.progress)") { recorder.progress.tags > 4 }
        return recorder
    }

    /// Starts a viewer of the program.
    func watch() async throws -> ProbeRecorder { try await record(media.cdn(room), as: "viewer") }

    /// Judges the viewer's recording.
    func judge(
        _ recorder: ProbeRecorder, expectedSwitches: Int? = nil, limits: ProbeLimits = .ofTests
    ) async throws -> ProbeReport {
        recorder.stop()
        return try await judge(await recorder.recording(), expectedSwitches: expectedSwitches, limits: limits)
    }

    func judge(
        _ recording: FLVRecording, expectedSwitches: Int? = nil, limits: ProbeLimits = .ofTests
    ) async throws -> ProbeReport {
        let (publishers, scenes) = state.withLock { ($0.known, Array($0.scenes)) }
        let report = try await Probe.judge(
            recording,
            ProbeConfiguration(
                publishers: publishers, scenes: scenes, expectedSwitches: expectedSwitches, limits: limits))
        print(report.table)
        await tellCauses(of: report, in: recording)
        return report
    }

    /// Judges the viewer's recording, and returns what the judgement is based on as well.
    func judgement(_ recorder: ProbeRecorder) async throws -> Probe.Judgement {
        recorder.stop()
        let (publishers, scenes) = state.withLock { ($0.known, Array($0.scenes)) }
        let judgement = try await Probe.judgement(
            await recorder.recording(),
            ProbeConfiguration(publishers: publishers, scenes: scenes, limits: .ofTests))
        print(judgement.report.table)
        return judgement
    }

    // MARK: Processes

    func printMessages() {
        let publishers = state.withLock { $0.publishers.values.map(\.process) }
        for process in [service] + publishers {
            print("--- \(process.name) (\(process.exitStatus.map { "ended with \($0)" } ?? "running"))")
            print(process.messages())
        }
        print("--- relay\n\(relayLog(last: 60))")
        print("--- kept: \(directory.path)")
    }

    private func stop() async {
        for recorder in state.withLock({ $0.recorders }) { recorder.stop() }
        let workers = workers
        try? await client.deleteRoom(room)
        await service.stop()
        for (process, _) in state.withLock({ $0.publishers.values.map { $0 } }) { await process.stop() }
        await media.stop()
        // Relays outlive the service on purpose; none may outlive the test.
        for worker in workers {
            let now = ProcessTable.entries().first { $0.identifier == worker.identifier }
            if now?.arguments == worker.arguments { kill(worker.identifier, SIGKILL) }
        }
    }
}
