import MixModel
import TaskStore

/// The SQL statements of `Outbox`.
///
/// Only the oldest waiting message of a lane has a due time, so a search for due messages never visits the ones behind
/// it, however many there are.
enum PostgreSQLOutbox {
    /// Takes messages. A node that takes messages at the same time gets different ones.
    static func take(
        of subscription: SubscriptionID, _ limit: Int, _ connection: PGConnection, at time: Double, until: Double
    ) throws -> OutboxTake {
        let found = try connection.execute(
            """
            SELECT number, id, lane, topic, body, attempts, earlier, queued, due FROM outbox
            WHERE subscription = $1 AND due IS NOT NULL ORDER BY due, number LIMIT $2 FOR UPDATE SKIP LOCKED
            """, [.text(subscription.rawValue), .integer(Int64(clamping: limit) &+ 1)])
        var items: [OutboxItem] = []
        var numbers: [Int64] = []
        var next: Duration?
        // A message behind an unreadable one is due now, and not among the rows.
        var isIncomplete = false
        for row in found.rows {
            let number = try row.integer("number")
            let found = try? item(row, of: subscription)
            // A message that cannot be read becomes a dead letter at once: it would block its lane forever.
            guard let found else {
                try bury(number, of: subscription, connection, time)
                isIncomplete = true
                continue
            }
            guard found.due <= time, items.count < limit else {
                next = .seconds(isIncomplete ? 0 : min(max(found.due - time, 0), OutboxTake.longestWait))
                break
            }
            numbers.append(number)
            items.append(found.item)
        }
        if !numbers.isEmpty {
            try connection.execute(
                "UPDATE outbox SET attempts = attempts + 1, due = $2 WHERE number = ANY($1::bigint[])",
                [.integers(numbers), .real(until)])
        }
        return OutboxTake(items: items, next: next ?? (isIncomplete ? .zero : nil))
    }

    /// Plausible times of storing, in seconds since 1970.
    private static let times = 0...1e11

    private static func item(
        _ row: SQLRow, of subscription: SubscriptionID
    ) throws -> (item: OutboxItem, due: Double) {
        let (attempts, earlier) = (try row.integer("attempts"), try row.integer("earlier"))
        let queued = try row.real("queued")
        guard 0..<Int64(Int32.max) ~= attempts, 0...attempts ~= earlier, times.contains(queued) else {
            throw SQLRow.Unreadable(description: "\(attempts) attempts, \(earlier) before, since \(queued)")
        }
        let item = OutboxItem(
            message: try message(row, of: subscription), attempt: Int(attempts) + 1, earlierAttempts: Int(earlier),
            queuedAt: queued)
        return (item, try row.real("due"))
    }

    static func message(_ row: SQLRow, of subscription: SubscriptionID) throws -> OutboxMessage {
        OutboxMessage(
            id: try row.text("id"), subscription: subscription, lane: try row.text("lane"),
            topic: Topic(rawValue: try row.text("topic")) ?? .test, body: try row.bytes("body"))
    }

    private static func bury(
        _ number: Int64, of subscription: SubscriptionID, _ connection: PGConnection, _ time: Double
    ) throws {
        try connection.execute(
            "UPDATE outbox SET due = NULL, settled = $1, dead = 1 WHERE number = $2", [.real(time), .integer(number)])
        try moveUp(of: subscription, connection, time)
    }

    /// Makes the oldest waiting message of each lane due.
    private static func moveUp(of subscription: SubscriptionID, _ connection: PGConnection, _ time: Double) throws {
        try connection.execute(
            """
            UPDATE outbox SET due = $1 WHERE due IS NULL AND number IN (
                SELECT min(number) FROM outbox WHERE subscription = $2 AND settled IS NULL GROUP BY lane)
            """, [.real(time), .text(subscription.rawValue)])
    }

    static func log(_ attempt: String, at time: Double, of item: OutboxItem, _ connection: PGConnection) throws {
        try connection.execute(
            "INSERT INTO attempts (subscription, message, at, document) VALUES ($1, $2, $3, $4)",
            [.text(item.message.subscription.rawValue), .text(item.message.id), .real(time), .text(attempt)])
    }

    /// Settles a message that was taken.
    ///
    /// - Returns: False if the message was taken again in the meantime, or is already settled.
    static func settle(
        _ item: OutboxItem, _ outcome: DeliveryOutcome, _ connection: PGConnection, at time: Double
    ) throws -> Bool {
        let key: [SQLValue] = [
            .text(item.message.subscription.rawValue), .text(item.message.id), .integer(Int64(item.attempt)),
        ]
        let condition = "WHERE subscription = $1 AND id = $2 AND attempts = $3 AND settled IS NULL"
        if case .retry(let delay) = outcome {
            let changed = try connection.execute(
                "UPDATE outbox SET due = $4 \(condition)", key + [.real(time + delay.seconds)])
            return changed.affected == 1
        }
        let changed = try connection.execute(
            "UPDATE outbox SET due = NULL, settled = $4, dead = $5 \(condition)",
            key + [.real(time), .integer(outcome == .givenUp ? 1 : 0)])
        guard changed.affected == 1 else { return false }
        try connection.execute(
            """
            UPDATE outbox SET due = $1 WHERE number = (
                SELECT min(number) FROM outbox WHERE subscription = $2 AND lane = $3 AND settled IS NULL)
            """, [.real(time), .text(item.message.subscription.rawValue), .text(item.message.lane)])
        return true
    }

    /// Sends a message again: it gets a new row, at the end of its lane.
    static func sendAgain(
        _ id: String, of subscription: SubscriptionID, _ connection: PGConnection, at time: Double
    ) throws -> Bool {
        let key: [SQLValue] = [.text(subscription.rawValue), .text(id)]
        let removed = try connection.execute(
            """
            DELETE FROM outbox WHERE subscription = $1 AND id = $2 AND settled IS NOT NULL
            RETURNING id, lane, topic, body, attempts
            """, key)
        guard let row = removed.rows.first else { return false }
        let (message, attempts) = (try message(row, of: subscription), try row.integer("attempts"))
        // Who settles the head of the lane at this moment waits for this transaction, or this one for that.
        let heads = try connection.execute(
            """
            SELECT 1 FROM outbox WHERE subscription = $1 AND lane = $2 AND settled IS NULL
            ORDER BY number LIMIT 1 FOR SHARE
            """, [.text(subscription.rawValue), .text(message.lane)]
        ).rows
        try connection.execute(
            """
            INSERT INTO outbox (subscription, id, lane, topic, body, queued, due, attempts, earlier)
            SELECT $1::text, $2::text, $3::text, $4::text, $5::bytea, $6::double precision, $7::double precision,
                $8::bigint, $8
            WHERE EXISTS (SELECT 1 FROM subscriptions WHERE id = $1) ON CONFLICT DO NOTHING
            """,
            key + [
                .text(message.lane), .text(message.topic.rawValue), .bytes(message.body), .real(time),
                .real(heads.isEmpty ? time : nil), .integer(attempts),
            ])
        return true
    }

    static func sendDeadLettersAgain(
        of subscription: SubscriptionID, limit: Int, _ connection: PGConnection, at time: Double
    ) throws -> Int {
        let ids = try connection.execute(
            "SELECT id FROM outbox WHERE subscription = $1 AND dead = 1 ORDER BY number LIMIT $2",
            [.text(subscription.rawValue), .integer(Int64(limit))]
        ).rows.map { try $0.text("id") }
        for id in ids { _ = try sendAgain(id, of: subscription, connection, at: time) }
        return ids.count
    }

    /// Moves the oldest waiting messages beyond `limit` to the dead letters.
    ///
    /// - Returns: The number of messages moved.
    static func cut(
        to limit: Int, of subscription: SubscriptionID, _ connection: PGConnection, _ time: Double
    ) throws -> Int {
        let cut = try connection.execute(
            """
            UPDATE outbox SET due = NULL, settled = $1, dead = 1
            WHERE subscription = $2 AND settled IS NULL AND number <= (
                SELECT number FROM outbox WHERE subscription = $2 AND settled IS NULL
                ORDER BY number DESC LIMIT 1 OFFSET $3)
            """, [.real(time), .text(subscription.rawValue), .integer(Int64(limit))])
        if cut.affected > 0 { try moveUp(of: subscription, connection, time) }
        return cut.affected
    }
}
