import Foundation
import MixModel
import Synchronization

/// Starts relay processes. Tests implement it with a scripted relay.
package protocol RelayStarting: Sendable {
    /// Starts the relay of `task`, which will listen at `socket`.
    func start(task: TaskID, socket: String) throws(RelayError) -> any RelayProcessHandle
    /// Kills the running process that was started for this socket, in this run of the service or in an earlier one.
    func killLeftover(socket: String)
    /// Returns what relays would miss, in words with the remedy; empty when they have everything.
    func missing() async -> [String]
}

extension RelayStarting {
    package func missing() async -> [String] { [] }
}

/// A process that this process has started. Thread-safe.
package protocol RelayProcessHandle: Sendable {
    var processID: Int32 { get }
    /// Returns in words how the process ended; `nil` while it runs. Never blocks.
    func exitDescription() -> String?
    func signal(_ number: Int32)
}

/// Starts `mixworker relay` with posix_spawn, so that it outlives this process and inherits nothing from it: no
/// descriptor (a listening socket would keep the port), no ignored signal, no configuration secret.
package struct RelayStarter: RelayStarting {
    /// Path of `mixworker`.
    package var worker: String
    /// Seconds for which a relay runs without an orchestrator.
    package var orphanTimeout: Int
    /// Whether a mixer's process waits beside a bypass that others may join.
    package var keepsMixersReady = true
    package var logLevel: String

    package init(worker: String, orphanTimeout: Int, keepsMixersReady: Bool = true, logLevel: String) {
        self.worker = worker
        self.orphanTimeout = orphanTimeout
        self.keepsMixersReady = keepsMixersReady
        self.logLevel = logLevel
    }
    /// Longest log in bytes. A longer one is truncated at the next start.
    static let longestLog = 10 << 20

    package func start(task: TaskID, socket: String) throws(RelayError) -> any RelayProcessHandle {
        guard access(worker, X_OK) == 0 else {
            throw .notStarted(
                "mixworker is not at \(worker): build it, or set MIXORCHESTRATOR_WORKER or `worker:`")
        }
        let arguments = [
            worker, "relay", "--task", task.rawValue, "--socket", socket, "--orphan-timeout", "\(orphanTimeout)",
            "--log-level", logLevel, keepsMixersReady ? "--ready-mixer" : "--no-ready-mixer",
        ]
        let environment = ProcessInfo.processInfo.environment
            .filter { !$0.key.hasPrefix("MIXORCHESTRATOR_") }.map { "\($0.key)=\($0.value)" }
        let log = RelayProcessFile.path(socket, ".log")
        let size = (try? FileManager.default.attributesOfItem(atPath: log)[.size] as? Int) ?? 0
        let flags = O_WRONLY | O_CREAT | O_APPEND | (size > Self.longestLog ? O_TRUNC : 0)

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, flags, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        for descriptor in Self.openDescriptors() where descriptor > 2 {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var processID: pid_t = 0
        let result = Self.withCStrings(arguments) { argumentPointers in
            Self.withCStrings(environment) { environmentPointers in
                posix_spawn(&processID, worker, &actions, &attributes, argumentPointers, environmentPointers)
            }
        }
        guard result == 0 else {
            throw .notStarted("\(worker) cannot be started: \(String(cString: strerror(result)))")
        }
        RelayProcessFile.write(processID, socket: socket)
        return SpawnedRelay(processID: processID, log: log)
    }

    package func missing() async -> [String] {
        await WorkerCheck.findings(worker: worker).filter { !$0.isGood }.map(\.text)
    }

    package func killLeftover(socket: String) {
        if let processID = RelayProcessFile.runningProcess(socket: socket) { kill(processID, SIGKILL) }
        RelayProcessFile.remove(socket: socket)
    }

    /// Returns the open descriptors. Most are close-on-exec already; closing them in the child is a second safeguard.
    private static func openDescriptors() -> [Int32] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).compactMap { Int32($0) }
    }

    private static func withCStrings<Result>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let pointers = strings.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }
}

private final class SpawnedRelay: RelayProcessHandle {
    let processID: Int32
    private let log: String
    /// Description of the exit, set when the process has been waited for. From then on its id may belong to another
    /// process.
    private let exit = Mutex<String?>(nil)

    init(processID: Int32, log: String) {
        self.processID = processID
        self.log = log
    }

    func exitDescription() -> String? {
        exit.withLock { exit in
            if exit != nil { return exit }
            var status: Int32 = 0
            guard waitpid(processID, &status, WNOHANG) == processID else { return nil }
            let signal = status & 0x7F
            let how = signal == 0 ? "exited with status \(status >> 8 & 0xFF)" : "was killed by signal \(signal)"
            exit = "relay \(processID) \(how), its log is \(log)"
            return exit
        }
    }

    func signal(_ number: Int32) {
        exit.withLock { exit in
            if exit == nil { kill(processID, number) }
        }
    }
}
