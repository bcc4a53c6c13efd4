import GRDB
import Synchronization

/// Detects that the clock was set back, and moves due times with it. Otherwise messages would wait, and leases would
/// hold, for as long as the clock was set back.
///
/// A clock that is set forward makes things due early, which does no harm: such a store has one node.
final class ClockSteps: Sendable {
    /// Time of the last group written, in seconds since 1970.
    private let last = Mutex<Double?>(nil)
    /// The largest step back that is ignored, in seconds.
    static let tolerance = 1.0

    /// Moves due times if the clock was set back. Call it at the beginning of a transaction.
    func begin(_ db: Database, at time: Double) throws {
        let last = try last.withLock { $0 } ?? Self.lastStored(db)
        guard let last, time < last - Self.tolerance else { return }
        try db.execute(
            sql: "UPDATE outbox SET due = max(due - ?2, ?1) WHERE due > ?1", arguments: [time, last - time])
        try db.execute(
            sql: "UPDATE nodes SET until = max(until - ?2, ?1) WHERE until > ?1", arguments: [time, last - time])
    }

    /// Records the time of a transaction. Call it when the transaction is durable.
    func committed(at time: Double) { last.withLock { $0 = time } }

    /// Returns the approximate time of the last write before the store was opened. Rows whose time is damaged are passed
    /// over.
    private static func lastStored(_ db: Database) throws -> Double? {
        try Double.fetchOne(
            db,
            sql: """
                SELECT max(at) FROM (
                    SELECT * FROM (
                        SELECT at FROM events WHERE typeof(at) IN ('real', 'integer') ORDER BY number DESC LIMIT 1)
                    UNION ALL SELECT * FROM (
                        SELECT queued AS at FROM outbox WHERE typeof(queued) IN ('real', 'integer')
                        ORDER BY number DESC LIMIT 1))
                """)
    }
}
