import ChildProcesses
import Foundation

/// Starts workers that outlive this process, inherit nothing from it, and can be found again by their Unix sockets.
package struct SocketWorkerStarter: Sendable {
    /// A command of `mixworker`.
    package enum Command: String, Sendable {
        case ingest, whip, whep, page
    }

    let command: Command
    /// Path of `mixworker`.
    let worker: String
    /// Seconds for which a worker runs without an orchestrator.
    let orphanTimeout: Int
    let logLevel: String
    let limits: WorkerLimits

    package init(_ command: Command, worker: String, orphanTimeout: Int, logLevel: String, limits: WorkerLimits) {
        self.command = command
        self.worker = worker
        self.orphanTimeout = orphanTimeout
        self.logLevel = logLevel
        self.limits = limits
    }

    func start(socket: String, log: String) throws(RelayError) -> LaunchedProcess {
        unlink(socket)
        return try WorkerLaunch(worker: worker, limits: limits).start(
            [
                command.rawValue, "--socket", socket, "--orphan-timeout", "\(orphanTimeout)", "--log-level", logLevel,
            ], log: log)
    }
}
