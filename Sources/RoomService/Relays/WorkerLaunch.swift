import ChildProcesses
import Foundation

/// The start of a `mixworker` process, which inherits nothing from this one: no descriptor (a listening socket would keep the
/// port), no ignored signal, no configuration secret.
struct WorkerLaunch {
    /// Path of `mixworker`.
    let worker: String
    let limits: WorkerLimits

    /// Longest log in bytes. A longer one is truncated at the next start.
    private static let longestLog = 10 << 20

    /// Starts a process.
    /// - Parameters:
    ///   - arguments: The subcommand and what follows it.
    ///   - log: File for what it writes.
    ///   - leadsGroup: False for one that begins a session of its own.
    func start(
        _ arguments: [String], input: ProcessLaunch.Stream = .null, log: String, leadsGroup: Bool = false
    ) throws(RelayError) -> LaunchedProcess {
        guard access(worker, X_OK) == 0 else {
            throw .notStarted("mixworker is not at \(worker): build it, or set MIXORCHESTRATOR_WORKER or `worker:`")
        }
        var launch = ProcessLaunch(worker, arguments)
        launch.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("MIXORCHESTRATOR_") }
            .merging(limits.environment) { $1 }
        launch.input = input
        let size = (try? FileManager.default.attributesOfItem(atPath: log)[.size] as? Int) ?? 0
        launch.output = .file(log, truncates: size > Self.longestLog)
        launch.errors = .output
        launch.leadsGroup = leadsGroup
        do throws(ProcessLaunch.Failure) { return try launch.start() } catch { throw .notStarted(error.description) }
    }
}
