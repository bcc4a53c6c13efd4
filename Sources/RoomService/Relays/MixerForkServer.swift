import ChildProcesses
import Foundation
import Logging
import ServiceLifecycle
import Synchronization

/// Keeps `mixworker forkserver` running, from which relays get their mixers.
///
/// The process ends with this one, however this one ends: mixers do not need it. Relays start mixers themselves while
/// it is not running.
package struct MixerForkServer: Service {
    /// Path of `mixworker`.
    let worker: String
    /// The socket at which it serves relays.
    let socket: String
    let limits: WorkerLimits
    let logger: Logger

    /// Path of the socket, beside those of relays. No task's socket has this name (`RelaySockets`).
    ///
    /// - Parameter data: The data directory.
    package static func socket(data: String) -> String { data + "/relays/_forkserver" }

    /// Delay before a restart: the first, and the longest. After a run of the longest delay or more, the first one
    /// applies again.
    private static let pauses = (first: Duration.milliseconds(100), longest: Duration.seconds(30))

    /// - Parameters:
    ///   - worker: Path of `mixworker`.
    ///   - limits: Limits of the workers that it starts.
    package init(worker: String, socket: String, limits: WorkerLimits, logger: Logger) {
        self.worker = worker
        self.socket = socket
        self.limits = limits
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            var pause = Self.pauses.first
            var logged: String?
            while !Task.isCancelled {
                let start = ContinuousClock.now
                let end = await life()
                guard !Task.isCancelled else { return }
                if ContinuousClock.now - start >= Self.pauses.longest { (pause, logged) = (Self.pauses.first, nil) }
                // A repeated reason is logged once. Components that need a worker report for themselves why none can be
                // started.
                if let end, end != logged {
                    logger.warning(
                        "the fork server for mixers \(end): mixers start more slowly until it is back",
                        metadata: ["retry": "\(pause)", "log": "\(log)"])
                }
                logged = end
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, Self.pauses.longest)
            }
        }
    }

    private var log: String { socket + ".log" }

    /// Runs the process until it ends, or until the task is cancelled.
    /// - Returns: How it ended, in words; `nil` if it could not be started.
    private func life() async -> String? {
        // The process ends when the other end is closed.
        let lifeline = ProcessLaunch.pipe()
        let input = ProcessLaunch.Stream.descriptor(lifeline.fileHandleForReading.fileDescriptor)
        let launch = WorkerLaunch(worker: worker, limits: limits)
        let process = try? launch.start(["forkserver", "--socket", socket], input: input, log: log, leadsGroup: true)
        guard let process else { return nil }
        try? lifeline.fileHandleForReading.close()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                process.onExit { continuation.resume(returning: "ended with \($0)") }
            }
        } onCancel: {
            try? lifeline.fileHandleForWriting.close()
        }
    }
}
