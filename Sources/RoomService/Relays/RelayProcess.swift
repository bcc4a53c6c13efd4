import ChildProcesses
import Foundation
import MixModel

/// Starts relay processes. Tests implement it with a scripted relay.
package protocol RelayStarting: Sendable {
    /// Starts the relay of `task`, which will listen at `socket`.
    func start(task: TaskID, socket: String) throws(RelayError) -> any RelayProcessHandle
    /// Kills the running process that was started for this socket, by this run of the service or an earlier one.
    func killLeftover(socket: String)
    /// Returns descriptions of what relays lack, with the remedies; empty when they have everything.
    func missing() async -> [String]
}

extension RelayStarting {
    package func missing() async -> [String] { [] }

    /// Starts the relay of `task` in place of one that died, or that runs but no longer listens.
    func startAfresh(task: TaskID, socket: String) throws(RelayError) -> any RelayProcessHandle {
        killLeftover(socket: socket)
        unlink(socket)
        return try start(task: task, socket: socket)
    }
}

/// A child process of this process. Thread-safe.
package protocol RelayProcessHandle: Sendable {
    var processID: Int32 { get }
    /// Returns a description of how the process ended; `nil` while it runs. Never blocks.
    func exitDescription() -> String?
    func signal(_ number: Int32)
}

extension RelayProcessHandle {
    /// Time within which a relay must listen after its start.
    static var startLimit: Duration { .seconds(10) }

    /// Connects to the relay, which was just started. Kills it if it does not listen in time.
    func connect(socket: String) async throws -> RelayConnection {
        let limit = ContinuousClock.now + Self.startLimit
        while ContinuousClock.now < limit {
            if let connection = try? await RelayConnection.open(path: socket) { return connection }
            if let exit = exitDescription() { throw RelayError.notStarted(exit) }
            try await Task.sleep(for: .milliseconds(5))
        }
        signal(SIGKILL)
        throw RelayError.notStarted("relay \(processID) did not listen within \(Self.startLimit)")
    }
}

/// Starts `mixworker relay`, which outlives this process.
package struct RelayStarter: RelayStarting {
    /// Path of `mixworker`.
    package var worker: String
    /// Seconds for which a relay runs without an orchestrator.
    package var orphanTimeout: Int
    /// Whether a mixer process waits beside a bypass that other participants may join.
    package var keepsMixersReady = true
    /// Socket of the fork server that provides mixers; `nil` = relays start them.
    package var forkServer: String?
    /// Encoder of mixers, in the form that `mixworker relay --encoder` accepts.
    package var encoder = "software"
    package var logLevel: String
    /// Limits of the relay and of the workers that it starts.
    package var limits: WorkerLimits

    /// Processes that run several programs; `nil` if every program has its own process.
    private(set) var shared: SharedRelays?

    /// - Parameters:
    ///   - programsPerProcess: Maximum number of programs that share a process.
    ///   - quantum: Time in ms, 0…10, for which packets of such programs may collect while they are calm.
    package init(
        worker: String, orphanTimeout: Int, keepsMixersReady: Bool = true, forkServer: String? = nil,
        programsPerProcess: Int = 1, quantum: Int = 0, encoder: String = "software", logLevel: String,
        limits: WorkerLimits = WorkerLimits()
    ) {
        self.worker = worker
        self.orphanTimeout = orphanTimeout
        self.keepsMixersReady = keepsMixersReady
        self.forkServer = forkServer
        self.encoder = encoder
        self.logLevel = logLevel
        self.limits = limits
        shared = nil
        guard programsPerProcess > 1 else { return }
        let starter = self
        shared = SharedRelays(limit: programsPerProcess) { (socket, input) throws(RelayError) in
            let directory = RelayProcessFile.directory(socket)
            let programs = ["--shared", directory] + (quantum > 0 ? ["--quantum", "\(quantum)"] : [])
            return try starter.launch(programs, input: .descriptor(input), socket: socket)
        }
    }

    package func start(task: TaskID, socket: String) throws(RelayError) -> any RelayProcessHandle {
        if let relay = try shared?.start(task: task, socket: socket) { return relay }
        let (process, log) = try launch(["--task", task.rawValue, "--socket", socket], input: .null, socket: socket)
        RelayProcessFile.write(process.processID, socket: socket)
        return SpawnedRelay(process: process, log: log)
    }

    /// Starts a process whose log is beside the socket.
    private func launch(
        _ programs: [String], input: ProcessLaunch.Stream, socket: String
    ) throws(RelayError) -> SharedRelays.Launched {
        let log = RelayProcessFile.path(socket, ".log")
        let arguments =
            ["relay"] + programs + [
                "--orphan-timeout", "\(orphanTimeout)", "--log-level", logLevel,
                keepsMixersReady ? "--ready-mixer" : "--no-ready-mixer", "--encoder", encoder,
            ] + (forkServer.map { ["--fork-server", $0] } ?? [])
        return (try WorkerLaunch(worker: worker, limits: limits).start(arguments, input: input, log: log), log)
    }

    package func missing() async -> [String] {
        await WorkerCheck.findings(worker: worker).filter { !$0.isGood }.map(\.text)
    }

    package func killLeftover(socket: String) {
        if shared?.kill(socket: socket) ?? false { return }
        if let processID = RelayProcessFile.runningProcess(socket: socket) { kill(processID, SIGKILL) }
        RelayProcessFile.remove(socket: socket)
    }
}

private struct SpawnedRelay: RelayProcessHandle {
    let process: LaunchedProcess
    let log: String

    var processID: Int32 { process.processID }

    func exitDescription() -> String? {
        let how: String
        switch process.exit {
        case nil: return nil
        case .status(let status): how = "exited with status \(status)"
        case .signal(let number): how = "was killed by signal \(number)"
        case .unknown: how = "ended"
        }
        return "relay \(processID) \(how), its log is \(log)"
    }

    func signal(_ number: Int32) { process.signal(number) }
}
