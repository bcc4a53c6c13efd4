import GRDB
import Synchronization

/// The figures of one group of changes that the writer committed.
public struct GroupCommit: Hashable, Sendable {
    /// Number of changes that shared the transaction and its sync to disk.
    public var changes: Int
    /// Number of changes that were waiting when the group was done.
    public var waiting: Int
    /// Time from the beginning of the transaction to the end of its sync.
    public var duration: Duration

    package init(changes: Int, waiting: Int, duration: Duration) {
        self.changes = changes
        self.waiting = waiting
        self.duration = duration
    }
}

/// The store's only writer. It takes all waiting changes, writes them in one transaction with one sync to disk, then
/// answers every caller. While a group is being written, the next one accumulates.
///
/// It runs on the connection's own serial queue, so it does not block the cooperative pool.
final class GroupWriter: Sendable {
    /// A change that waits to be written.
    protocol Write: Sendable {
        /// Writes inside the group's transaction.
        ///
        /// A write that refuses its own change keeps the refusal for `answer` and leaves no trace. It throws only if
        /// the engine fails.
        func perform(_ db: Database, at time: Double) throws
        /// Reports the outcome. Called once, when the transaction is durable (`nil`) or rolled back.
        func answer(_ failure: StoreError?)
    }

    /// Maximum number of changes that wait. Further ones are refused.
    static let queueSize = 8192
    /// Maximum number of changes in one transaction.
    static let groupSize = 512

    private enum Admission {
        case starts, waits
        case refused(StoreError)
    }

    private struct State {
        var waiting: [any Write] = []
        var isRunning = false
        var isClosed = false
        /// Whether the files were missing or replaced after the last group was written.
        var isDisplaced = false
    }
    private let state = Mutex(State())

    private let pool: DatabasePool
    private let path: String
    private let clock: StoreClock
    private let checkpointer: Checkpointer
    private let expiry: Expiry
    private let files: StoreFiles
    private let onCommit: (@Sendable (GroupCommit) -> Void)?
    private let steps = ClockSteps()

    init(
        pool: DatabasePool, path: String, clock: StoreClock, checkpointer: Checkpointer, expiry: Expiry,
        files: StoreFiles, onCommit: (@Sendable (GroupCommit) -> Void)?
    ) {
        self.pool = pool
        self.path = path
        self.clock = clock
        self.checkpointer = checkpointer
        self.expiry = expiry
        self.files = files
        self.onCommit = onCommit
    }

    /// Number of changes that wait, not counting the group being written.
    var waiting: Int { state.withLock { $0.waiting.count } }

    /// Writes the changes of `body` together with other waiting ones; returns when they are durable.
    ///
    /// - Parameter body: May throw a `StoreError` to refuse its own change, and must then leave no trace. Any other
    ///   error fails the group.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database, _ time: Double) throws -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            enqueue(Callback(body) { continuation.resume(returning: $0) })
        }
        return try result.get()
    }

    /// Adds a write and returns at once. `write` is answered later, or immediately if it is refused.
    func enqueue(_ write: some Write) {
        let admission = state.withLock { state -> Admission in
            if state.isClosed { return .refused(.closed) }
            guard state.waiting.count < Self.queueSize else { return .refused(.overloaded) }
            state.waiting.append(write)
            defer { state.isRunning = true }
            return state.isRunning ? .waits : .starts
        }
        switch admission {
        case .starts: pool.asyncWriteWithoutTransaction { self.run($0) }
        case .waits: break
        case .refused(let error): write.answer(error)
        }
    }

    /// Refuses new changes and returns when all earlier ones have been written.
    func close() async {
        state.withLock { $0.isClosed = true }
        await withCheckedContinuation { continuation in
            pool.asyncWriteWithoutTransaction { _ in continuation.resume() }
        }
    }

    private func run(_ db: Database) {
        while let group = nextGroup() {
            write(group, db)
            checkpointer.wroteGroup(db)
        }
    }

    /// Returns whether a single write may have caused the error, rather than the file.
    private static func isOfOneWrite(_ error: any Error, _ failure: StoreError) -> Bool {
        if case .engine = failure { return true }
        return (error as? DatabaseError).map { $0.resultCode == .SQLITE_ERROR } ?? true
    }

    private func nextGroup() -> [any Write]? {
        state.withLock { state in
            if state.waiting.isEmpty {
                state.isRunning = false
                return nil
            }
            if state.waiting.count <= Self.groupSize {
                defer { state.waiting.removeAll(keepingCapacity: true) }
                return state.waiting
            }
            let group = Array(state.waiting.prefix(Self.groupSize))
            state.waiting.removeFirst(Self.groupSize)
            return group
        }
    }

    private func write(_ group: [any Write], _ db: Database) {
        let start = ContinuousClock.now
        let time = clock.now()
        if state.withLock({ $0.isDisplaced }), let problem = files.problem {
            for write in group { write.answer(problem) }
            return
        }
        do {
            try db.beginTransaction(.immediate)
            try steps.begin(db, at: time)
            for write in group { try write.perform(db, at: time) }
            try expiry.wrote(group.count, db, at: time)
            try db.commit()
            steps.committed(at: time)
        } catch {
            // The engine may have rolled back by itself.
            if db.isInsideTransaction { try? db.rollback() }
            let failure = StoreError(error, path: path)
            // A write that the engine cannot perform must not fail the others. A full or broken disk fails all of them.
            if group.count > 1, Self.isOfOneWrite(error, failure) {
                for write in group { self.write([write], db) }
            } else {
                for write in group { write.answer(failure) }
            }
            return
        }
        // Checks the files after the commit: a change that is reported as stored must be in a file that the next start
        // finds.
        let problem = files.problem
        state.withLock { $0.isDisplaced = problem != nil }
        for write in group { write.answer(problem) }
        guard problem == nil else { return }
        onCommit?(
            GroupCommit(
                changes: group.count, waiting: waiting, duration: start.duration(to: .now)))
    }
}

extension GroupWriter {
    /// A write that passes its result to a closure.
    final class Callback<Value: Sendable>: Write {
        private let body: @Sendable (Database, Double) throws -> Value
        private let whenDone: @Sendable (Result<Value, StoreError>) -> Void
        private let result = Mutex(Result<Value, StoreError>.failure(.engine("the write was not performed")))

        init(
            _ body: @escaping @Sendable (Database, Double) throws -> Value,
            whenDone: @escaping @Sendable (Result<Value, StoreError>) -> Void
        ) {
            self.body = body
            self.whenDone = whenDone
        }

        func perform(_ db: Database, at time: Double) throws {
            do {
                let value = try body(db, time)
                result.withLock { $0 = .success(value) }
            } catch let refusal as StoreError {
                result.withLock { $0 = .failure(refusal) }
            }
        }

        func answer(_ failure: StoreError?) {
            whenDone(failure.map { .failure($0) } ?? result.withLock { $0 })
        }
    }
}
