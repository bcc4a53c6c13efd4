import MixModel
import Synchronization

/// Sorts the reports of one connection. The first status confirms the connection.
final class ReportInbox: Sendable {
    private let task: TaskID
    private let backlog: ReportBacklog
    private let forward: @Sendable (RelaySupervisor.Report) -> Void
    /// Process of the relay.
    struct Process {
        /// 0 until the first status.
        var id: Int32 = 0
        /// Whether it also runs relays of other tasks.
        var isShared = false
    }
    private let relayProcess = Mutex(Process())

    init(task: TaskID, backlog: ReportBacklog, forward: @escaping @Sendable (RelaySupervisor.Report) -> Void) {
        self.task = task
        self.backlog = backlog
        self.forward = forward
    }

    var process: Process { relayProcess.withLock { $0 } }

    /// - Throws: `RelayError` when the relay refuses this orchestrator, belongs to another task, or reports faster than
    ///   its reports are handled.
    func receive(_ report: RelayReport) throws(RelayError) {
        switch report {
        case .refused(let reason): throw .refused(reason)
        case .status(let status) where status.task != task: throw .wrongTask(status.task)
        default: break
        }
        guard backlog.add() else {
            throw .protocolViolation(
                "it reports faster than can be processed: \(ReportBacklog.limit) reports are pending")
        }
        switch report {
        case .status(let status):
            let isFirst = relayProcess.withLock { known in
                defer { known = Process(id: status.processID, isShared: status.sharesProcess) }
                return known.id == 0
            }
            forward(isFirst ? .connected(status) : .status(status))
        case .switched(let record):
            forward(.switched(record))
        case .note(let code, let message):
            forward(.note(code: code, message: message))
        case .refused: break
        }
    }
}

/// Counts the reports of a task's relay that its room has not handled yet. Thread-safe.
final class ReportBacklog: Sendable {
    /// Maximum number of unhandled reports. A relay sends a few per second.
    static let limit = 1024

    private let count = Mutex(0)

    /// Adds a report. Returns false when too many wait.
    func add() -> Bool {
        count.withLock { count in
            guard count < Self.limit else { return false }
            count += 1
            return true
        }
    }

    /// Removes a report that has been handled.
    func remove() { count.withLock { $0 -= 1 } }
}
