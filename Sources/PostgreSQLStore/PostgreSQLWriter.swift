import Foundation
import TaskStore

/// The only writer of this process: a thread with its own connection. It takes all waiting changes, writes them in one
/// transaction, and answers every caller after the COMMIT. While a group is being written, the next one accumulates.
final class PostgreSQLWriter: Sendable {
    /// Maximum number of changes that wait. Further ones are refused.
    static let queueSize = 8192
    /// Maximum number of changes in one transaction.
    static let groupSize = 512

    private let queue = JobQueue<any GroupWrite>(limit: PostgreSQLWriter.queueSize)
    private let ended = Ending()

    init(
        _ target: PostgreSQLTarget, cluster: String, clock: StoreClock?, expiry: PostgreSQLExpiry,
        onCommit: (@Sendable (GroupCommit) -> Void)?
    ) {
        let (queue, ended) = (queue, ended)
        let thread = Thread {
            ended.after {
                let session = WriterSession(target, cluster: cluster, clock: clock, expiry: expiry)
                while let group = queue.take(Self.groupSize) {
                    let start = ContinuousClock.now
                    if session.write(group) {
                        onCommit?(
                            GroupCommit(
                                changes: group.count, waiting: queue.count, duration: start.duration(to: .now)))
                    }
                }
            }
        }
        thread.name = "store.writer"
        thread.start()
    }

    /// Number of changes that wait, not counting the group being written.
    var waiting: Int { queue.count }

    /// Writes the changes of `body` together with other waiting ones; returns when they are durable.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (PGConnection, _ time: Double) throws -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            enqueue(CallbackWrite(body) { continuation.resume(returning: $0) })
        }
        return try result.get()
    }

    func write(_ change: PreparedChange) async throws(StoreError) -> CommitResult {
        let result: Result<CommitResult, StoreError> = await withCheckedContinuation { continuation in
            enqueue(CallbackWrite(change, reading: PreparedChange.outcome) { continuation.resume(returning: $0) })
        }
        return try result.get()
    }

    /// Adds a write and returns at once. `write` is answered later, or immediately if it is refused.
    func enqueue(_ write: some GroupWrite) {
        switch queue.add(write) {
        case nil: break
        case .full: write.answer(.overloaded)
        case .closed: write.answer(.closed)
        }
    }

    /// Refuses new changes and returns when all earlier ones have been answered and the connection is closed.
    func close() async {
        queue.close()
        await ended.wait()
    }
}

/// The end of one or several threads, for which other code can wait.
final class Ending: Sendable {
    private let condition = NSCondition()
    private nonisolated(unsafe) var left: Int
    private nonisolated(unsafe) var waiters: [CheckedContinuation<Void, Never>] = []

    init(threads: Int = 1) { left = threads }

    /// Runs `body`, the whole work of one thread, and ends. Its connection is closed by then: `wait` must not return
    /// while a library still uses it, because the process may exit next.
    func after(_ body: () -> Void) {
        body()
        end()
    }

    private func end() {
        let resumed = condition.withLock {
            left -= 1
            defer { if left == 0 { waiters = [] } }
            return left == 0 ? waiters : []
        }
        for waiter in resumed { waiter.resume() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOver = condition.withLock {
                if left > 0 { waiters.append(continuation) }
                return left <= 0
            }
            if isOver { continuation.resume() }
        }
    }
}
