import GRDB
import Synchronization

/// How the writer got on with one group of changes.
public struct GroupCommit: Hashable, Sendable {
    /// How many changes shared the transaction and its sync to disk.
    public var changes: Int
    /// How many were waiting when it was done.
    public var waiting: Int
    /// From the beginning of the transaction to the return of its sync.
    public var duration: Duration
}

/// The only one that writes: takes everything that waits, writes it in one transaction with one sync to disk, then
/// answers everybody. While a group is being written the next one gathers.
///
/// Runs on the connection's own serial queue, so nothing here blocks the cooperative pool.
final class GroupWriter: Sendable {
    /// What waits to be written.
    protocol Write: Sendable {
        /// Writes inside the group's transaction. What it refuses for itself it keeps for `answer` and leaves no trace;
        /// it throws only when the engine fails.
        func perform(_ db: Database, at time: Double) throws
        /// Called once, when the transaction is durable (`nil`) or rolled back.
        func answer(_ failure: StoreError?)
    }

    /// Most changes that wait; the next one is refused.
    static let queueSize = 8192
    /// Most changes in one transaction.
    static let groupSize = 512

    private enum Admission {
        case starts, waits
        case refused(StoreError)
    }

    private struct State {
        var waiting: [any Write] = []
        var isRunning = false
        var isClosed = false
        /// The files were not where they were opened when a group was written last.
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

    /// How many wait, the group being written not counted.
    var waiting: Int { state.withLock { $0.waiting.count } }

    /// Writes `body`'s changes together with what else waits; returns when they are durable.
    ///
    /// - Parameter body: A `StoreError` that it throws is its own refusal, and must leave no trace; anything else fails
    ///   the group.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database, _ time: Double) throws -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            enqueue(Callback(body) { continuation.resume(returning: $0) })
        }
        return try result.get()
    }

    /// Returns at once; `write` is answered later, or now when it is refused.
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

    /// Refuses what comes from now on and returns when everything before is written.
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

    /// Whether the error need not be every write's: what one asked for, or found, is no fault of the file's.
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
            // The engine may have rolled back itself.
            if db.isInsideTransaction { try? db.rollback() }
            let failure = StoreError(error, path: path)
            // One write that the engine cannot take must not fail the others. A full or broken disk fails all of them.
            if group.count > 1, Self.isOfOneWrite(error, failure) {
                for write in group { self.write([write], db) }
            } else {
                for write in group { write.answer(failure) }
            }
            return
        }
        // Looked at afterwards: what is answered as stored is in a file that the next start finds.
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
    /// A write that hands its result to a closure.
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
