import ChildProcesses
import Foundation

/// Starts `mixworker whip`, which outlives this process and inherits nothing from it.
package struct WebRTCStarter: Sendable {
    /// Path of `mixworker`.
    let worker: String
    /// Seconds for which a worker runs without an orchestrator.
    let orphanTimeout: Int
    let logLevel: String
    let limits: WorkerLimits

    package init(worker: String, orphanTimeout: Int, logLevel: String, limits: WorkerLimits) {
        self.worker = worker
        self.orphanTimeout = orphanTimeout
        self.logLevel = logLevel
        self.limits = limits
    }

    func start(socket: String, log: String) throws(RelayError) -> LaunchedProcess {
        unlink(socket)
        return try WorkerLaunch(worker: worker, limits: limits).start(
            ["whip", "--socket", socket, "--orphan-timeout", "\(orphanTimeout)", "--log-level", logLevel], log: log)
    }
}
