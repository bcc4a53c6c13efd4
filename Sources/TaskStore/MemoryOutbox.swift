import MixModel

/// An implementation of `Outbox` and `DeliveryLog` in memory.
struct MemoryOutbox {
    struct Entry {
        var delivery: Delivery
        var earlierAttempts = 0
        /// Whether the message has a due time. Only the oldest waiting message of a lane has one.
        var isHead: Bool { delivery.due != nil }
    }
    /// The messages, oldest first.
    private(set) var entries: [Entry] = []
    private(set) var log: [LoggedAttempt] = []
    private var lastNumber: Int64 = 0
    /// Maximum number of waiting messages of one subscription.
    let limit: Int

    init(limit: Int = Retention().waitingMessages) { self.limit = limit }

    mutating func append(_ message: OutboxMessage, at time: Double) {
        guard index(message.id, message.subscription) == nil else { return }
        enqueue(message, at: time, attempts: 0)
        let waiting = entries.indices.filter { isWaiting($0, of: message.subscription) }
        guard waiting.count > limit else { return }
        for index in waiting.prefix(waiting.count - limit) { settle(at: index, .dead, time) }
        for index in waiting.dropFirst(waiting.count - limit) where !hasHead(entries[index].delivery.message) {
            entries[index].delivery.due = time
        }
    }

    private mutating func enqueue(_ message: OutboxMessage, at time: Double, attempts: Int) {
        lastNumber += 1
        let delivery = Delivery(
            message: message, number: lastNumber, state: .waiting, queuedAt: time, attempts: attempts,
            due: hasHead(message) ? nil : time, settledAt: nil, lastAttempt: nil)
        entries.append(Entry(delivery: delivery, earlierAttempts: attempts))
    }

    private func isWaiting(_ index: Int, of subscription: SubscriptionID) -> Bool {
        entries[index].delivery.state == .waiting && entries[index].delivery.message.subscription == subscription
    }

    private func index(_ id: String, _ subscription: SubscriptionID) -> Int? {
        entries.firstIndex {
            $0.delivery.message.id.hasSameUTF8(as: id) && $0.delivery.message.subscription == subscription
        }
    }

    /// Returns whether a waiting message of the same lane has a due time.
    private func hasHead(_ message: OutboxMessage) -> Bool {
        entries.indices.contains { index in
            isWaiting(index, of: message.subscription)
                && entries[index].delivery.message.lane.hasSameUTF8(as: message.lane)
                && entries[index].isHead
        }
    }

    /// Moves due times with a clock that was set back, so that no message waits longer.
    mutating func clockWasSetBack(by step: Double, to time: Double) {
        for index in entries.indices {
            if let due = entries[index].delivery.due, due > time {
                entries[index].delivery.due = max(due - step, time)
            }
        }
    }

    mutating func take(
        of subscription: SubscriptionID, _ limit: Int, at time: Double, until: Double
    ) -> OutboxTake {
        let heads = entries.indices.filter { isWaiting($0, of: subscription) && entries[$0].isHead }
            .sorted { (entries[$0].delivery.due ?? 0, $0) < (entries[$1].delivery.due ?? 0, $1) }
        let due = heads.prefix { entries[$0].delivery.due ?? 0 <= time }.prefix(limit)
        let next = heads.dropFirst(due.count).first.flatMap { entries[$0].delivery.due }
        let items = due.map { index in
            entries[index].delivery.attempts += 1
            entries[index].delivery.due = until
            let delivery = entries[index].delivery
            return OutboxItem(
                message: delivery.message, attempt: delivery.attempts,
                earlierAttempts: entries[index].earlierAttempts, queuedAt: delivery.queuedAt)
        }
        return OutboxTake(items: items, next: next.map { .seconds(min(max($0 - time, 0), OutboxTake.longestWait)) })
    }

    /// Settles a message that was taken.
    ///
    /// - Returns: False if the message was taken again in the meantime, or is already settled.
    mutating func settle(
        _ item: OutboxItem, _ outcome: DeliveryOutcome, _ attempt: DeliveryAttempt?, at time: Double
    ) -> Bool {
        let index = index(item.message.id, item.message.subscription)
        if let attempt {
            log.append(
                LoggedAttempt(
                    subscription: item.message.subscription, message: item.message.id, attempt: attempt,
                    body: item.message.body))
            if let index { entries[index].delivery.lastAttempt = attempt }
        }
        guard let index, entries[index].delivery.attempts == item.attempt, entries[index].delivery.state == .waiting
        else { return false }
        switch outcome {
        case .retry(let delay):
            entries[index].delivery.due = time + delay.seconds
            return true
        case .delivered: settle(at: index, .delivered, time)
        case .givenUp: settle(at: index, .dead, time)
        }
        let message = item.message
        let next = entries.indices.first {
            isWaiting($0, of: message.subscription) && entries[$0].delivery.message.lane.hasSameUTF8(as: message.lane)
        }
        if let next { entries[next].delivery.due = time }
        return true
    }

    private mutating func settle(at index: Int, _ state: DeliveryState, _ time: Double) {
        entries[index].delivery.state = state
        entries[index].delivery.settledAt = time
        entries[index].delivery.due = nil
    }

    mutating func sendAgain(_ id: String, of subscription: SubscriptionID, at time: Double) -> Bool {
        guard let index = index(id, subscription), entries[index].delivery.state != .waiting else { return false }
        let delivery = entries.remove(at: index).delivery
        enqueue(delivery.message, at: time, attempts: delivery.attempts)
        entries[entries.count - 1].delivery.lastAttempt = delivery.lastAttempt
        return true
    }

    mutating func sendDeadLettersAgain(of subscription: SubscriptionID, limit: Int, at time: Double) -> Int {
        let dead = entries.map(\.delivery).filter { $0.state == .dead && $0.message.subscription == subscription }
        for delivery in dead.prefix(limit) { _ = sendAgain(delivery.message.id, of: subscription, at: time) }
        return min(dead.count, limit)
    }

    /// Drops the waiting messages of a deleted subscription.
    mutating func forgetWaiting(of subscription: SubscriptionID) {
        entries.removeAll { $0.delivery.state == .waiting && $0.delivery.message.subscription == subscription }
    }

    mutating func removeExpired(_ retention: Retention, at time: Double) -> Int {
        let count = entries.count + log.count
        entries.removeAll { $0.delivery.settledAt.map { $0 < time - retention.deliveryAge } ?? false }
        log.removeAll { $0.attempt.at < time - retention.deliveryAge }
        let surplus = entries.count { $0.delivery.state != .waiting } - retention.deliveries
        if surplus > 0 {
            let oldest = Set(
                entries.map(\.delivery).filter { $0.state != .waiting }.map(\.number).sorted().prefix(surplus))
            entries.removeAll { oldest.contains($0.delivery.number) }
        }
        if log.count > retention.deliveries { log.removeFirst(log.count - retention.deliveries) }
        return count - entries.count - log.count
    }
}
