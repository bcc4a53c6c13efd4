import MixModel
import Synchronization

/// Sorts the reports of one connection: the first status makes the connection good.
final class ReportInbox: Sendable {
    private let task: TaskID
    private let backlog: ReportBacklog
    private let forward: @Sendable (TaskOwner.Report) -> Void
    /// 0 until the first status.
    private let relayProcessID = Mutex<Int32>(0)

    init(task: TaskID, backlog: ReportBacklog, forward: @escaping @Sendable (TaskOwner.Report) -> Void) {
        self.task = task
        self.backlog = backlog
        self.forward = forward
    }

    var processID: Int32 { relayProcessID.withLock { $0 } }

    /// - Throws: When the relay does not want this orchestrator, or is another task's, or reports faster than can be taken.
    func receive(_ report: RelayReport) throws(RelayError) {
        switch report {
        case .refused(let reason): throw .refused(reason)
        case .status(let status) where status.task != task: throw .wrongTask(status.task)
        default: break
        }
        guard backlog.add() else {
            throw .protocolViolation("it reports faster than can be taken: \(ReportBacklog.limit) reports wait")
        }
        switch report {
        case .status(let status):
            let isFirst = relayProcessID.withLock { known in
                defer { known = status.processID }
                return known == 0
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

/// Counts the reports of a task's relay that its room has not handled. Thread-safe.
final class ReportBacklog: Sendable {
    /// A relay sends some a second.
    static let limit = 1024

    private let count = Mutex(0)

    /// One has come. False when too many wait.
    func add() -> Bool {
        count.withLock { count in
            guard count < Self.limit else { return false }
            count += 1
            return true
        }
    }

    /// One has been handled.
    func remove() { count.withLock { $0 -= 1 } }
}
