import ChildProcesses
import Foundation

/// Starts a `mixworker` process that inherits nothing from this one: no descriptor (a listening socket would keep the
/// port), no ignored signal, no configuration secret.
struct WorkerLaunch {
    /// Path of `mixworker`.
    let worker: String
    let limits: WorkerLimits

    /// Maximum size of a log in bytes. A longer one is truncated at the next start.
    private static let longestLog = 10 << 20

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - arguments: The subcommand and its arguments.
    ///   - log: Path of the log file for its output.
    ///   - leadsGroup: Whether it leads a process group; false for a process that starts its own session.
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
