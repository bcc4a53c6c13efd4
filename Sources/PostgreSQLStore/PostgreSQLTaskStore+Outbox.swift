import Foundation
import MixModel
import TaskStore

extension PostgreSQLTaskStore {
    public func takeMessages(
        of subscription: SubscriptionID, limit: Int, lease: Duration
    ) async throws(StoreError) -> OutboxTake {
        try await write { connection, time in
            try PostgreSQLOutbox.take(of: subscription, limit, connection, at: time, until: time + lease.seconds)
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
        let isSettled = try await write { [text] connection, time in
            if let text { try PostgreSQLOutbox.log(text, at: attempt?.at ?? time, of: item, connection) }
            return try PostgreSQLOutbox.settle(item, outcome, connection, at: time)
        }
        guard isSettled else { throw .fenced("message \(item.message.id)") }
    }

    public func waitingSubscriptions() async throws(StoreError) -> [SubscriptionID] {
        try await read { connection in
            try connection.execute(
                "SELECT DISTINCT subscription FROM outbox WHERE due IS NOT NULL ORDER BY subscription"
            ).rows.map { SubscriptionID(try $0.text("subscription")) }
        }
    }

    public func sendAgain(_ message: String, of subscription: SubscriptionID) async throws(StoreError) -> Bool {
        try await write { connection, time in
            try PostgreSQLOutbox.sendAgain(message, of: subscription, connection, at: time)
        }
    }

    public func sendDeadLettersAgain(of subscription: SubscriptionID, limit: Int) async throws(StoreError) -> Int {
        try await write { connection, time in
            try PostgreSQLOutbox.sendDeadLettersAgain(of: subscription, limit: limit, connection, at: time)
        }
    }
}

// MARK: - Subscriptions and deliveries

extension PostgreSQLTaskStore {
    public func subscriptions() async throws(StoreError) -> [Versioned<Subscription>] {
        try await documents("subscriptions ORDER BY id")
    }

    public func deliveries(
        of subscription: SubscriptionID, state: DeliveryState?, lane: String?, before: Int64?, limit: Int
    ) async throws(StoreError) -> [Delivery] {
        var conditions = "subscription = $1"
        switch state {
        case .waiting: conditions += " AND settled IS NULL"
        case .delivered: conditions += " AND settled IS NOT NULL AND dead = 0"
        case .dead: conditions += " AND dead = 1"
        case nil: break
        }
        if lane != nil { conditions += " AND lane = $3" }
        let arguments: [SQLValue] = [
            .text(subscription.rawValue), .integer(Int64(limit)), .text(lane), .integer(before ?? .max),
        ]
        // Every parameter appears in the text, so that its type is known.
        conditions += " AND number < $4 AND $3::text IS NOT DISTINCT FROM $3::text"
        return try await deliveries(conditions + " ORDER BY number DESC LIMIT $2", arguments, of: subscription)
    }

    public func delivery(
        _ message: String, of subscription: SubscriptionID
    ) async throws(StoreError) -> Delivery? {
        try await deliveries(
            "subscription = $1 AND id = $2", [.text(subscription.rawValue), .text(message)], of: subscription
        ).first
    }

    private func deliveries(
        _ conditions: String, _ arguments: [SQLValue], of subscription: SubscriptionID
    ) async throws(StoreError) -> [Delivery] {
        try await read { connection in
            let last = """
                (SELECT document FROM attempts WHERE subscription = outbox.subscription AND message = outbox.id
                ORDER BY number DESC LIMIT 1) AS last
                """
            return try connection.execute("SELECT *, \(last) FROM outbox WHERE \(conditions)", arguments)
                .rows.compactMap { row in try? Self.delivery(row, of: subscription) }
        }
    }

    private static func delivery(_ row: SQLRow, of subscription: SubscriptionID) throws -> Delivery {
        let settledAt = try row.optionalReal("settled")
        return Delivery(
            message: try PostgreSQLOutbox.message(row, of: subscription), number: try row.integer("number"),
            state: settledAt == nil ? .waiting : try row.integer("dead") == 1 ? .dead : .delivered,
            queuedAt: try row.real("queued"), attempts: Int(clamping: try row.integer("attempts")),
            due: try row.optionalReal("due"), settledAt: settledAt,
            lastAttempt: try row.optionalText("last").flatMap { try? attempt($0) })
    }

    private static func attempt(_ text: String) throws -> DeliveryAttempt {
        try JSONDecoder().decode(DeliveryAttempt.self, from: Data(text.utf8))
    }

    public func attempts(
        of message: String, of subscription: SubscriptionID
    ) async throws(StoreError) -> [DeliveryAttempt] {
        try await read { connection in
            try connection.execute(
                "SELECT document FROM attempts WHERE subscription = $1 AND message = $2 ORDER BY number",
                [.text(subscription.rawValue), .text(message)]
            ).rows.compactMap { try? Self.attempt($0.text("document")) }
        }
    }

    public func attempts(
        of subscriptions: [SubscriptionID], in time: ClosedRange<Double>, offset: Int, limit: Int
    ) async throws(StoreError) -> [LoggedAttempt] {
        try await read { connection in
            try connection.execute(
                """
                SELECT a.subscription, a.message, a.document, o.body FROM attempts a
                LEFT JOIN outbox o ON o.subscription = a.subscription AND o.id = a.message
                WHERE a.subscription = ANY($1::text[]) AND a.at BETWEEN $2 AND $3
                ORDER BY a.at DESC, a.number DESC LIMIT $4 OFFSET $5
                """,
                [
                    .texts(subscriptions.map(\.rawValue)), .real(time.lowerBound), .real(time.upperBound),
                    .integer(Int64(limit)), .integer(Int64(offset)),
                ]
            ).rows.compactMap { row in
                try? LoggedAttempt(
                    subscription: SubscriptionID(row.text("subscription")), message: row.text("message"),
                    attempt: Self.attempt(row.text("document")), body: row.optionalBytes("body") ?? [])
            }
        }
    }

    public func deliveryCounts(of subscription: SubscriptionID) async throws(StoreError) -> DeliveryCounts {
        try await read { connection in
            let found = try connection.execute(
                """
                SELECT (SELECT count(*) FROM outbox WHERE subscription = $1 AND settled IS NULL) AS waiting,
                    (SELECT count(*) FROM outbox WHERE subscription = $1 AND dead = 1) AS dead
                """, [.text(subscription.rawValue)])
            return DeliveryCounts(
                waiting: Int(clamping: try found.rows.first?.integer("waiting") ?? 0),
                dead: Int(clamping: try found.rows.first?.integer("dead") ?? 0))
        }
    }

    public func waitingMessages() async throws(StoreError) -> Int {
        try await read { connection in
            let found = try connection.execute("SELECT count(*) AS waiting FROM outbox WHERE settled IS NULL")
            return Int(clamping: try found.rows.first?.integer("waiting") ?? 0)
        }
    }
}
