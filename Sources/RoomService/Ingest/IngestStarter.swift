import ChildProcesses
import Foundation

/// Starts `mixworker ingest`, which outlives this process and inherits nothing from it.
package struct IngestStarter: Sendable {
    /// Path of `mixworker`.
    let worker: String
    /// Seconds for which the ingest runs without an orchestrator.
    let orphanTimeout: Int
    let logLevel: String
    let limits: WorkerLimits

    package init(worker: String, orphanTimeout: Int, logLevel: String, limits: WorkerLimits) {
        self.worker = worker
        self.orphanTimeout = orphanTimeout
        self.logLevel = logLevel
        self.limits = limits
    }

    func start(_ files: IngestFiles) throws(RelayError) -> LaunchedProcess {
        guard access(worker, X_OK) == 0 else {
            throw .notStarted("mixworker is not at \(worker): build it, or set MIXORCHESTRATOR_WORKER or `worker:`")
        }
        unlink(files.socket)
        var launch = ProcessLaunch(
            worker,
            [
                "ingest", "--socket", files.socket, "--orphan-timeout", "\(orphanTimeout)", "--log-level", logLevel,
            ])
        launch.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("MIXORCHESTRATOR_") }
            .merging(limits.environment) { $1 }
        let size = (try? FileManager.default.attributesOfItem(atPath: files.log)[.size] as? Int) ?? 0
        launch.output = .file(files.log, truncates: size > RelayStarter.longestLog)
        launch.errors = .output
        // It begins a session of its own.
        launch.leadsGroup = false
        do throws(ProcessLaunch.Failure) { return try launch.start() } catch { throw .notStarted(error.description) }
    }
}
