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
        unlink(files.socket)
        return try WorkerLaunch(worker: worker, limits: limits).start(
            ["ingest", "--socket", files.socket, "--orphan-timeout", "\(orphanTimeout)", "--log-level", logLevel],
            log: files.log)
    }
}
