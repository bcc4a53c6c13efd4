import Foundation
import MixModel
import TaskStore

/// A store in a PostgreSQL database, which several machines can reach. Changes that arrive together share one
/// transaction.
public final class PostgreSQLTaskStore: TaskStore {
    /// Human-readable description of the database, without secrets.
    public let place: String
    /// Identity of the cluster whose schema this is. It never changes.
    public let cluster: String
    let writer: PostgreSQLWriter
    let reader: ReadPool
    let listener: HintListener
    let looks = RoomLooks()
    let expiry: PostgreSQLExpiry
    let setAside: PostgreSQLSetAside
    let clock: StoreClock?
    /// Timer that removes expired rows. `init` starts it and `close` cancels it; both are safe from any thread.
    private nonisolated(unsafe) let housekeeping: any DispatchSourceTimer

    /// Interval at which an idle store removes expired rows, in seconds.
    private static let housekeepingInterval = 30

    /// Connects, and creates the tables or brings them up to date. The call blocks; it is intended for start-up.
    ///
    /// - Parameters:
    ///   - cluster: Identity that the schema must have; `nil` = any.
    ///   - name: Name that the cluster must have, or gets if it has none; `nil` = none.
    ///   - clock: The clock for leases, retention and due messages; `nil` = the server's clock, the only one that
    ///     several machines share.
    ///   - onCommit: Called after every group of changes, on the writer's thread; must be quick.
    ///   - onUnreadable: Called with each row that cannot be read.
    /// - Throws: `unavailable`, `schemaTooNew`, `otherCluster`, `otherName`, or `engine`. Nothing is written then. The
    ///   messages are for operators.
    public init(
        _ target: PostgreSQLTarget, cluster expected: String? = nil, name: String? = nil, clock: StoreClock? = nil,
        retention: Retention = Retention(), onCommit: (@Sendable (GroupCommit) -> Void)? = nil,
        onUnreadable: @escaping @Sendable (UnreadableRow) -> Void = { _ in }
    ) throws(StoreError) {
        place = target.place
        self.clock = clock
        cluster = try Self.open(target, expected, name)
        setAside = PostgreSQLSetAside(onUnreadable)
        expiry = PostgreSQLExpiry(retention)
        writer = PostgreSQLWriter(target, cluster: cluster, clock: clock, expiry: expiry, onCommit: onCommit)
        reader = ReadPool(target, cluster: cluster)
        listener = HintListener(target, cluster: cluster)
        housekeeping = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
        let interval = Self.housekeepingInterval
        housekeeping.schedule(deadline: .now() + .seconds(interval), repeating: .seconds(interval))
        housekeeping.setEventHandler { [writer, expiry] in Self.removeExpired(writer, expiry) }
        housekeeping.activate()
    }

    private static func open(
        _ target: PostgreSQLTarget, _ expected: String?, _ name: String?
    ) throws(StoreError) -> String {
        do {
            let connection = try PGConnection(target)
            var state = try PostgreSQLSchema.state(connection, target.place)
            try PostgreSQLSchema.check(state, expected, target.place)
            let isMember = expected != nil
            try PostgreSQLSchema.checkName(state, name, isMember: isMember, connection, target.place)
            if state.version < PostgreSQLSchema.version || (name != nil && state.name == nil) {
                state = try PostgreSQLSchema.migrate(connection, target.place, name: name, isMember: isMember).after
            }
            guard let found = state.cluster else {
                throw StoreError.corrupt(path: target.place, reason: "the table cluster is empty")
            }
            return found
        } catch {
            throw StoreError(error, place: target.place)
        }
    }

    public func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult {
        let result = try await writer.write(PreparedChange(change, now: clock?.now()))
        if result == .committed {
            if change.subscription != nil { await tell(.subscriptions) }
            if change.layoutVersion != nil { await tell(.layouts) }
        }
        return result
    }

    public func commit(
        _ change: StoreChange, claiming tasks: [TaskID], by node: NodeID, for duration: Duration
    ) async throws(StoreError) -> (CommitResult, [Lease]) {
        let prepared = try PreparedChange(change, now: clock?.now())
        return try await write { connection, time in
            _ = try PostgreSQLLeases.renew(node, at: time, until: time + duration.seconds, connection)
            let leases = try PostgreSQLLeases.claim(tasks, by: node, at: time, connection)
            if let missing = tasks.first(where: { task in !leases.contains { $0.task == task } }) {
                throw StoreError.fenced("task \(missing)")
            }
            let result = try connection.execute(prepared.statement, prepared.parameters)
            return (try PreparedChange.outcome(result), leases)
        }
    }

    public func check() async throws(StoreError) {
        let number = Int64.random(in: 0 ... .max)
        try await write { connection, _ in
            _ = try connection.execute(
                """
                INSERT INTO probe (id, number) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET number = excluded.number
                """, [.integer(number)])
        }
        let found = try await read { try $0.execute("SELECT number FROM probe WHERE id = 1").rows.count }
        // Another check may have written its own number in between.
        guard found == 1 else { throw .corrupt(path: place, reason: "written data cannot be read back") }
    }

    @discardableResult public func removeExpired() async throws(StoreError) -> Int {
        try await write { [expiry] connection, time in try expiry.step(connection, at: time) }
    }

    /// Performs one step after another, with other writes between them.
    private static func removeExpired(_ writer: PostgreSQLWriter, _ expiry: PostgreSQLExpiry) {
        writer.enqueue(
            CallbackWrite { connection, time in
                try expiry.step(connection, at: time)
            } whenDone: { result in
                if case .success(1...) = result { removeExpired(writer, expiry) }
            })
    }

    public func close() async {
        housekeeping.cancel()
        await listener.close()
        await writer.close()
        await reader.close()
    }

    /// Number of writes that wait, not counting those being written.
    public var waiting: Int { writer.waiting }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (PGConnection) throws -> Value
    ) async throws(StoreError) -> Value {
        try await reader.read(body)
    }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (PGConnection, _ time: Double) throws -> Value
    ) async throws(StoreError) -> Value {
        try await writer.write(body)
    }
}
