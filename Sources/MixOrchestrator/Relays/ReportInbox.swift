import MixModel
import Synchronization

/// Sorts the reports of one connection: the first status makes the connection good.
final class ReportInbox: Sendable {
    private let task: TaskID
    private let forward: @Sendable (TaskOwner.Report) -> Void
    /// 0 until the first status.
    private let relayProcessID = Mutex<Int32>(0)

    init(task: TaskID, forward: @escaping @Sendable (TaskOwner.Report) -> Void) {
        self.task = task
        self.forward = forward
    }

    var processID: Int32 { relayProcessID.withLock { $0 } }

    /// - Throws: When the relay does not want this orchestrator, or is another task's.
    func receive(_ report: RelayReport) throws(RelayError) {
        switch report {
        case .status(let status):
            guard status.task == task else { throw .wrongTask(status.task) }
            let isFirst = relayProcessID.withLock { known in
                defer { known = status.processID }
                return known == 0
            }
            forward(isFirst ? .connected(status) : .status(status))
        case .switched(let record):
            forward(.switched(record))
        case .note(let code, let message):
            forward(.note(code: code, message: message))
        case .refused(let reason):
            throw .refused(reason)
        }
    }
}
