import Foundation
import GRDB
import MixModel

/// An implementation of `Outbox` and `DeliveryLog` in SQL.
///
/// Only the oldest waiting message of a lane has a due time, so a search for due messages never visits the ones behind
/// it, however many there are.
enum SQLiteOutbox {
    static func append(_ message: OutboxMessage, _ db: Database, _ time: Double) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO outbox (subscription, id, lane, topic, body, queued, due)
                SELECT ?1, ?2, ?3, ?4, ?5, ?6, CASE WHEN EXISTS (
                    SELECT 1 FROM outbox WHERE subscription = ?1 AND lane = ?3 AND settled IS NULL
                ) THEN NULL ELSE ?6 END
                WHERE EXISTS (SELECT 1 FROM subscriptions WHERE id = ?1) ON CONFLICT DO NOTHING
                """
        ).execute(arguments: [
            message.subscription.rawValue, message.id, message.lane, message.topic.rawValue, Data(message.body), time,
        ])
    }

    static func take(
        of subscription: SubscriptionID, _ limit: Int, _ db: Database, at time: Double, until: Double
    ) throws -> OutboxTake {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT number, id, lane, topic, body, attempts, earlier, queued, due FROM outbox
                    WHERE subscription = ? AND due IS NOT NULL ORDER BY due, number LIMIT ?
                    """), arguments: [subscription.rawValue, limit + 1])
        let taking = try db.cachedStatement(
            sql: "UPDATE outbox SET attempts = attempts + 1, due = ? WHERE number = ?")
        var items: [OutboxItem] = []
        // A message behind an unreadable one is due now, and not among the rows.
        var isIncomplete = false
        for row in rows {
            let number: Int64 = try row.value("number")
            let found = try? item(row, of: subscription)
            // A message that cannot be read becomes a dead letter at once: it would block its lane forever.
            guard let found else {
                try bury(number, of: subscription, db, time)
                isIncomplete = true
                continue
            }
            guard found.due <= time, items.count < limit else {
                let wait = isIncomplete ? 0 : min(max(found.due - time, 0), OutboxTake.longestWait)
                return OutboxTake(items: items, next: .seconds(wait))
            }
            try taking.execute(arguments: [until, number])
            items.append(found.item)
        }
        return OutboxTake(items: items, next: isIncomplete ? .zero : nil)
    }

    /// Plausible times of storing, in seconds since 1970.
    private static let times = 0...1e11

    private static func item(_ row: Row, of subscription: SubscriptionID) throws -> (item: OutboxItem, due: Double) {
        let (attempts, earlier): (Int, Int) = (try row.value("attempts"), try row.value("earlier"))
        let queued: Double = try row.value("queued")
        guard 0..<Int(Int32.max) ~= attempts, 0...attempts ~= earlier, times.contains(queued) else {
            throw DatabaseError(
                resultCode: .SQLITE_CORRUPT, message: "\(attempts) attempts, \(earlier) before, since \(queued)")
        }
        let item = OutboxItem(
            message: try message(row, of: subscription), attempt: attempts + 1, earlierAttempts: earlier,
            queuedAt: queued)
        return (item, try row.value("due"))
    }

    static func message(_ row: Row, of subscription: SubscriptionID) throws -> OutboxMessage {
        OutboxMessage(
            id: try row.value("id"), subscription: subscription, lane: try row.value("lane"),
            topic: Topic(rawValue: try row.value("topic")) ?? .test, body: [UInt8](try row.value("body") as Data))
    }

    private static func bury(_ number: Int64, of subscription: SubscriptionID, _ db: Database, _ time: Double) throws {
        try db.execute(
            sql: "UPDATE outbox SET due = NULL, settled = ?, dead = 1 WHERE number = ?", arguments: [time, number])
        try moveUp(of: subscription, db, time)
    }

    /// Makes the oldest waiting message of each lane due.
    private static func moveUp(of subscription: SubscriptionID, _ db: Database, _ time: Double) throws {
        try db.execute(
            sql: """
                UPDATE outbox SET due = ?1 WHERE due IS NULL AND number IN (
                    SELECT min(number) FROM outbox WHERE subscription = ?2 AND settled IS NULL GROUP BY lane)
                """, arguments: [time, subscription.rawValue])
    }

    static func log(_ attempt: String, at time: Double, of item: OutboxItem, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT INTO attempts (subscription, message, at, document) VALUES (?, ?, ?, ?)")
            .execute(arguments: [item.message.subscription.rawValue, item.message.id, time, attempt])
    }

    /// Settles a message that was taken.
    ///
    /// - Returns: False if the message was taken again in the meantime, or is already settled.
    static func settle(
        _ item: OutboxItem, _ outcome: DeliveryOutcome, _ db: Database, at time: Double
    ) throws -> Bool {
        let (id, subscription) = (item.message.id, item.message.subscription.rawValue)
        let condition = "WHERE subscription = ?2 AND id = ?3 AND attempts = ?4 AND settled IS NULL"
        switch outcome {
        case .retry(let delay):
            try db.cachedStatement(sql: "UPDATE outbox SET due = ?1 \(condition)")
                .execute(arguments: [time + delay.seconds, subscription, id, item.attempt])
            return db.changesCount == 1
        case .delivered, .givenUp:
            try db.cachedStatement(sql: "UPDATE outbox SET due = NULL, settled = ?1, dead = ?5 \(condition)")
                .execute(arguments: [time, subscription, id, item.attempt, outcome == .givenUp])
        }
        guard db.changesCount == 1 else { return false }
        try db.cachedStatement(
            sql: """
                UPDATE outbox SET due = ?1 WHERE number = (
                    SELECT min(number) FROM outbox WHERE subscription = ?2 AND lane = ?3 AND settled IS NULL)
                """
        ).execute(arguments: [time, subscription, item.message.lane])
        return true
    }

    /// Sends a settled message again.
    ///
    /// - Returns: False if there is none, or it cannot be read.
    static func sendAgain(
        _ id: String, of subscription: SubscriptionID, _ db: Database, at time: Double
    ) throws -> Bool {
        let row = try Row.fetchOne(
            db,
            sql:
                "SELECT id, lane, topic, body, attempts FROM outbox WHERE subscription = ? AND id = ? AND settled IS NOT NULL",
            arguments: [subscription.rawValue, id])
        guard let row, let message = try? Self.message(row, of: subscription),
            let attempts: Int = try? row.value("attempts")
        else { return false }
        // The message gets a new row, at the end of its lane.
        try db.execute(
            sql: "DELETE FROM outbox WHERE subscription = ? AND id = ?", arguments: [subscription.rawValue, id])
        try append(message, db, time)
        try db.execute(
            sql: "UPDATE outbox SET attempts = ?1, earlier = ?1 WHERE subscription = ?2 AND id = ?3",
            arguments: [attempts, subscription.rawValue, id])
        return true
    }

    static func sendDeadLettersAgain(
        of subscription: SubscriptionID, limit: Int, _ db: Database, at time: Double
    ) throws -> Int {
        let ids = try String.fetchAll(
            db, sql: "SELECT id FROM outbox WHERE subscription = ? AND dead = 1 ORDER BY number LIMIT ?",
            arguments: [subscription.rawValue, limit])
        return try ids.count { try sendAgain($0, of: subscription, db, at: time) }
    }

    /// Moves the oldest waiting messages beyond `limit` to the dead letters.
    ///
    /// - Returns: The number of messages moved.
    static func cut(to limit: Int, of subscription: SubscriptionID, _ db: Database, _ time: Double) throws -> Int {
        let last = try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT number FROM outbox WHERE subscription = ? AND settled IS NULL
                    ORDER BY number DESC LIMIT 1 OFFSET ?
                    """), arguments: [subscription.rawValue, limit])
        guard let last else { return 0 }
        try db.execute(
            sql: """
                UPDATE outbox SET due = NULL, settled = ?1, dead = 1
                WHERE subscription = ?2 AND settled IS NULL AND number <= ?3
                """, arguments: [time, subscription.rawValue, last])
        let count = db.changesCount
        try moveUp(of: subscription, db, time)
        return count
    }
}
