import Foundation
import GRDB
import MixModel

extension SQLiteTaskStore {
    public func takeMessages(
        of subscription: SubscriptionID, limit: Int, lease: Duration
    ) async throws(StoreError) -> OutboxTake {
        try await write { db, time in
            try SQLiteOutbox.take(of: subscription, limit, db, at: time, until: time + lease.seconds)
        }
    }

    public func settle(
        _ item: OutboxItem, _ outcome: DeliveryOutcome, attempt: DeliveryAttempt?
    ) async throws(StoreError) {
        var text: String?
        if let attempt {
            do {
                text = try DocumentEncoder.json(attempt)
            } catch {
                throw .engine("a document cannot be written: \(error)")
            }
        }
        let isSettled = try await write { [text] db, time in
            if let text { try SQLiteOutbox.log(text, at: attempt?.at ?? time, of: item, db) }
            return try SQLiteOutbox.settle(item, outcome, db, at: time)
        }
        guard isSettled else { throw .fenced("message \(item.message.id)") }
    }

    public func waitingSubscriptions() async throws(StoreError) -> [SubscriptionID] {
        try await read { db in
            try String.fetchAll(
                db, sql: "SELECT DISTINCT subscription FROM outbox WHERE due IS NOT NULL ORDER BY subscription"
            ).map { SubscriptionID($0) }
        }
    }

    public func sendAgain(_ message: String, of subscription: SubscriptionID) async throws(StoreError) -> Bool {
        try await write { db, time in try SQLiteOutbox.sendAgain(message, of: subscription, db, at: time) }
    }

    public func sendDeadLettersAgain(of subscription: SubscriptionID, limit: Int) async throws(StoreError) -> Int {
        try await write { db, time in
            try SQLiteOutbox.sendDeadLettersAgain(of: subscription, limit: limit, db, at: time)
        }
    }
}

// MARK: - Subscriptions and deliveries

extension SQLiteTaskStore {
    public func subscriptions() async throws(StoreError) -> [Versioned<Subscription>] {
        try await documents("subscriptions ORDER BY id")
    }

    public func deliveries(
        of subscription: SubscriptionID, state: DeliveryState?, lane: String?, before: Int64?, limit: Int
    ) async throws(StoreError) -> [Delivery] {
        var conditions = "subscription = ?"
        var arguments: StatementArguments = [subscription.rawValue]
        switch state {
        case .waiting: conditions += " AND settled IS NULL"
        case .delivered: conditions += " AND settled IS NOT NULL AND dead = 0"
        case .dead: conditions += " AND dead = 1"
        case nil: break
        }
        if let lane {
            conditions += " AND lane = ?"
            arguments += [lane]
        }
        if let before {
            conditions += " AND number < ?"
            arguments += [before]
        }
        arguments += [limit]
        return try await deliveries(conditions + " ORDER BY number DESC LIMIT ?", arguments, of: subscription)
    }

    public func delivery(
        _ message: String, of subscription: SubscriptionID
    ) async throws(StoreError) -> Delivery? {
        try await deliveries("subscription = ? AND id = ?", [subscription.rawValue, message], of: subscription).first
    }

    private func deliveries(
        _ conditions: String, _ arguments: StatementArguments, of subscription: SubscriptionID
    ) async throws(StoreError) -> [Delivery] {
        try await read { db in
            let last = """
                (SELECT document FROM attempts WHERE subscription = outbox.subscription AND message = outbox.id
                ORDER BY number DESC LIMIT 1) AS last
                """
            return try Row.fetchAll(
                db, sql: "SELECT *, \(last) FROM outbox WHERE \(conditions)", arguments: arguments
            ).compactMap { row in try? Self.delivery(row, of: subscription) }
        }
    }

    private static func delivery(_ row: Row, of subscription: SubscriptionID) throws -> Delivery {
        let settledAt: Double? = try row.value("settled")
        return Delivery(
            message: try SQLiteOutbox.message(row, of: subscription), number: try row.value("number"),
            state: settledAt == nil ? .waiting : try row.value("dead") ? .dead : .delivered,
            queuedAt: try row.value("queued"), attempts: try row.value("attempts"), due: try row.value("due"),
            settledAt: settledAt, lastAttempt: (try row.value("last") as String?).flatMap { try? attempt($0) })
    }

    private static func attempt(_ text: String) throws -> DeliveryAttempt {
        try JSONDecoder().decode(DeliveryAttempt.self, from: Data(text.utf8))
    }

    public func attempts(
        of message: String, of subscription: SubscriptionID
    ) async throws(StoreError) -> [DeliveryAttempt] {
        try await read { db in
            try String.fetchAll(
                db, sql: "SELECT document FROM attempts WHERE subscription = ? AND message = ? ORDER BY number",
                arguments: [subscription.rawValue, message]
            ).compactMap { try? Self.attempt($0) }
        }
    }

    public func attempts(
        of subscriptions: [SubscriptionID], in time: ClosedRange<Double>, offset: Int, limit: Int
    ) async throws(StoreError) -> [LoggedAttempt] {
        try await read { db in
            let marks = subscriptions.map { _ in "?" }.joined(separator: ", ")
            var arguments = StatementArguments(subscriptions.map(\.rawValue))
            arguments += [time.lowerBound, time.upperBound, limit, offset]
            return try Row.fetchAll(
                db,
                sql: """
                    SELECT a.subscription, a.message, a.document, o.body FROM attempts a
                    LEFT JOIN outbox o ON o.subscription = a.subscription AND o.id = a.message
                    WHERE a.subscription IN (\(marks)) AND a.at BETWEEN ? AND ?
                    ORDER BY a.at DESC, a.number DESC LIMIT ? OFFSET ?
                    """, arguments: arguments
            ).compactMap { row in
                try? LoggedAttempt(
                    subscription: SubscriptionID(row.value("subscription")), message: row.value("message"),
                    attempt: Self.attempt(row.value("document")),
                    body: (row.value("body") as Data?).map { [UInt8]($0) } ?? [])
            }
        }
    }

    public func deliveryCounts(of subscription: SubscriptionID) async throws(StoreError) -> DeliveryCounts {
        try await read { db in
            func count(_ condition: String) throws -> Int {
                try Int.fetchOne(
                    db, sql: "SELECT count(*) FROM outbox WHERE subscription = ? AND \(condition)",
                    arguments: [subscription.rawValue]) ?? 0
            }
            return DeliveryCounts(waiting: try count("settled IS NULL"), dead: try count("dead = 1"))
        }
    }

    public func waitingMessages() async throws(StoreError) -> Int {
        try await read { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM outbox WHERE settled IS NULL") ?? 0
        }
    }
}
