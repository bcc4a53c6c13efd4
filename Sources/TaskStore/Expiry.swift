import GRDB
import MixModel
import Synchronization

/// Removes what `Retention` no longer keeps, a few rows at a time: as part of other transactions while there are many,
/// on its own while there are few.
final class Expiry: Sendable {
    private let retention: Retention
    /// The number of changes since the last step.
    private let changes = Mutex(0)
    /// The number of changes between two steps. A step removes more rows than these changes add.
    private static let interval = Retention.step / 2

    init(_ retention: Retention) { self.retention = retention }

    /// Counts the changes of a transaction and performs a step if one is due. Call it inside every transaction.
    func wrote(_ count: Int, _ db: Database, at time: Double) throws {
        let isDue = changes.withLock { changes in
            changes += count
            guard changes >= Self.interval else { return false }
            changes = 0
            return true
        }
        if isDue { _ = try step(db, at: time) }
    }

    /// Removes some rows of each kind.
    ///
    /// - Returns: The number of rows removed.
    func step(_ db: Database, at time: Double) throws -> Int {
        try removeOld("events", age: retention.eventAge, most: retention.events, db, time)
            + removeOld("channel_messages", age: retention.messageAge, most: retention.messages, db, time)
            + removeMessages(db, time) + removeTasks(db, time)
    }

    private func removeOld(_ table: String, age: Double, most: Int, _ db: Database, _ time: Double) throws -> Int {
        // Numbers grow with time and have few gaps: their difference is an estimate of the rows that costs nothing.
        let oldest = try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT number, at, (SELECT max(number) FROM \(table)) FROM \(table) ORDER BY number LIMIT 1"))
        guard let oldest else { return 0 }
        // A damaged time, which cannot be read, keeps no other row.
        let at = Double.fromDatabaseValue(oldest[1]) ?? -Double.infinity
        let isExpired = at < time - age || oldest[0] <= (oldest[2] as Int) - most
        guard isExpired else { return 0 }
        try db.cachedStatement(
            sql: """
                DELETE FROM \(table) WHERE number IN (SELECT number FROM \(table) ORDER BY number LIMIT ?3)
                AND (at < ?1 OR number <= (SELECT max(number) FROM \(table)) - ?2)
                """
        ).execute(arguments: [time - age, most, Retention.step])
        return db.changesCount
    }

    private func removeMessages(_ db: Database, _ time: Double) throws -> Int {
        var removed = 0
        for subscription in try String.fetchAll(db.cachedStatement(sql: "SELECT id FROM subscriptions")) {
            removed += try SQLiteOutbox.cut(
                to: retention.waitingMessages, of: SubscriptionID(subscription), db, time)
        }
        for (table, condition) in [("outbox", "settled IS NOT NULL"), ("attempts", "1")] {
            let newest = try Int.fetchOne(db.cachedStatement(sql: "SELECT max(number) FROM \(table)")) ?? 0
            try db.cachedStatement(
                sql: """
                    DELETE FROM \(table) WHERE number IN (
                        SELECT number FROM \(table) WHERE \(condition) AND number <= ?1 ORDER BY number LIMIT ?2)
                    """
            ).execute(arguments: [newest - retention.deliveries, Retention.step])
            removed += db.changesCount
        }
        try db.cachedStatement(
            sql: """
                DELETE FROM outbox WHERE number IN (
                    SELECT number FROM outbox WHERE settled < ?1 ORDER BY settled LIMIT ?2)
                """
        ).execute(arguments: [time - retention.deliveryAge, Retention.step])
        removed += db.changesCount
        try db.cachedStatement(
            sql: """
                DELETE FROM attempts WHERE number IN (SELECT number FROM attempts ORDER BY number LIMIT ?2) AND at < ?1
                """
        ).execute(arguments: [time - retention.deliveryAge, Retention.step])
        return removed + db.changesCount
    }

    /// Removes the history of one task whose document was deleted.
    private func removeTasks(_ db: Database, _ time: Double) throws -> Int {
        let found = try String.fetchOne(
            db.cachedStatement(sql: "SELECT task FROM removed_tasks WHERE at < ? ORDER BY at LIMIT 1"),
            arguments: [time - retention.removedTaskAge])
        guard let task = found else { return 0 }
        let isBack = try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT 1 FROM tasks WHERE id = ?"), arguments: [task])
        var removed = 0
        if isBack == nil {
            for table in ["timeline", "switches"] {
                try db.cachedStatement(
                    sql: """
                        DELETE FROM \(table) WHERE number IN (
                            SELECT number FROM \(table) WHERE task = ? ORDER BY number LIMIT ?)
                        """
                ).execute(arguments: [task, Retention.step])
                removed += db.changesCount
            }
        }
        guard removed == 0 else { return removed }
        if isBack == nil {
            try db.cachedStatement(sql: "DELETE FROM leases WHERE task = ?").execute(arguments: [task])
        }
        try db.cachedStatement(sql: "DELETE FROM removed_tasks WHERE task = ?").execute(arguments: [task])
        return 1
    }
}
