import MixModel
import Synchronization
import TaskStore

/// Removes what `Retention` no longer keeps, a few rows at a time: as part of other transactions while there are many,
/// on its own while there are few.
final class PostgreSQLExpiry: Sendable {
    private struct State {
        /// The number of changes since the last step.
        var changes = 0
        /// Time at which waiting messages were last counted.
        var lastCut = ContinuousClock.now
    }
    private let retention: Retention
    private let state = Mutex(State())
    /// The number of changes between two steps. A step removes more rows than these changes add.
    private static let interval = Retention.step / 2
    /// Minimum time between two counts of waiting messages within other transactions.
    private static let cutInterval: Duration = .seconds(5)
    /// Age in seconds at which the row of a writer that has ended is removed.
    private static let writerAge = 86_400.0

    init(_ retention: Retention) { self.retention = retention }

    /// Counts the changes of a transaction and performs a step if one is due. Call it inside every transaction.
    func wrote(_ count: Int, _ connection: PGConnection, at time: Double) throws {
        let (isDue, cuts) = state.withLock { state in
            state.changes += count
            guard state.changes >= Self.interval else { return (false, false) }
            state.changes = 0
            guard state.lastCut.duration(to: .now) > Self.cutInterval else { return (true, false) }
            state.lastCut = .now
            return (true, true)
        }
        if isDue { _ = try step(connection, at: time, cuts: cuts) }
    }

    /// Removes some rows of each kind.
    ///
    /// - Parameter cuts: Whether waiting messages beyond their limit become dead letters as well.
    /// - Returns: The number of rows removed.
    func step(_ connection: PGConnection, at time: Double, cuts: Bool = true) throws -> Int {
        var removed = try removeOld("events", age: retention.eventAge, most: retention.events, connection, time)
        removed += try removeOld(
            "channel_messages", age: retention.messageAge, most: retention.messages, connection, time)
        if cuts { removed += try cutMessages(connection, time) }
        removed += try removeMessages(connection, time)
        removed += try removeTask(connection, time)
        try connection.execute("DELETE FROM commits WHERE at < $1", [.real(time - Self.writerAge)])
        return removed
    }

    private func removeOld(
        _ table: String, age: Double, most: Int, _ connection: PGConnection, _ time: Double
    ) throws -> Int {
        // Numbers grow with time and have few gaps: their difference is an estimate of the rows that costs nothing.
        let found = try connection.execute(
            "SELECT number, at, (SELECT max(number) FROM \(table)) AS newest FROM \(table) ORDER BY number LIMIT 1")
        guard let oldest = found.rows.first else { return 0 }
        let last = try oldest.integer("newest") - Int64(most)
        let isExpired = try oldest.real("at") < time - age || oldest.integer("number") <= last
        guard isExpired else { return 0 }
        return try connection.execute(
            """
            DELETE FROM \(table) WHERE number IN (SELECT number FROM \(table) ORDER BY number LIMIT $3)
            AND (at < $1 OR number <= $2)
            """, [.real(time - age), .integer(last), .integer(Int64(Retention.step))]
        ).affected
    }

    private func cutMessages(_ connection: PGConnection, _ time: Double) throws -> Int {
        let found = try connection.execute(
            "SELECT subscription FROM outbox WHERE settled IS NULL GROUP BY subscription HAVING count(*) > $1",
            [.integer(Int64(retention.waitingMessages))])
        var cut = 0
        for row in found.rows {
            cut += try PostgreSQLOutbox.cut(
                to: retention.waitingMessages, of: SubscriptionID(try row.text("subscription")), connection, time)
        }
        return cut
    }

    private func removeMessages(_ connection: PGConnection, _ time: Double) throws -> Int {
        var removed = 0
        let step = SQLValue.integer(Int64(Retention.step))
        for (table, condition) in [("outbox", "settled IS NOT NULL"), ("attempts", "true")] {
            removed += try connection.execute(
                """
                DELETE FROM \(table) WHERE number IN (
                    SELECT number FROM \(table) WHERE \(condition)
                        AND number <= (SELECT max(number) FROM \(table)) - $1
                    ORDER BY number LIMIT $2)
                """, [.integer(Int64(retention.deliveries)), step]
            ).affected
        }
        let oldest = SQLValue.real(time - retention.deliveryAge)
        removed += try connection.execute(
            """
            DELETE FROM outbox WHERE number IN (
                SELECT number FROM outbox WHERE settled < $1 ORDER BY settled LIMIT $2)
            """, [oldest, step]
        ).affected
        removed += try connection.execute(
            """
            DELETE FROM attempts WHERE number IN (SELECT number FROM attempts ORDER BY number LIMIT $2) AND at < $1
            """, [oldest, step]
        ).affected
        return removed
    }

    /// Removes the history of one task whose document was deleted.
    private func removeTask(_ connection: PGConnection, _ time: Double) throws -> Int {
        let found = try connection.execute(
            """
            SELECT task, EXISTS (SELECT 1 FROM tasks WHERE id = task)::int AS back
            FROM removed_tasks WHERE at < $1 ORDER BY at LIMIT 1
            """, [.real(time - retention.removedTaskAge)])
        guard let row = found.rows.first else { return 0 }
        let task = SQLValue.text(try row.text("task"))
        let isBack = try row.integer("back") == 1
        var removed = 0
        if !isBack {
            for table in ["timeline", "switches"] {
                removed += try connection.execute(
                    """
                    DELETE FROM \(table) WHERE number IN (
                        SELECT number FROM \(table) WHERE task = $1 ORDER BY number LIMIT $2)
                    """, [task, .integer(Int64(Retention.step))]
                ).affected
            }
        }
        guard removed == 0 else { return removed }
        if !isBack { try connection.execute("DELETE FROM leases WHERE task = $1", [task]) }
        try connection.execute("DELETE FROM removed_tasks WHERE task = $1", [task])
        return 1
    }
}
