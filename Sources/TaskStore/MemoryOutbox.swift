/// What `Outbox` says, in memory.
struct MemoryOutbox {
    private struct Entry {
        var message: OutboxMessage
        var due: Double
        var attempts = 0
        var settled: Double?
    }
    /// Oldest first.
    private var entries: [Entry] = []

    mutating func append(_ message: OutboxMessage, due: Double) {
        guard !entries.contains(where: { $0.message.id == message.id }) else { return }
        entries.append(Entry(message: message, due: due))
    }

    mutating func take(_ limit: Int, at time: Double, until: Double) -> [OutboxItem] {
        let due = entries.indices.filter { entries[$0].settled == nil && entries[$0].due <= time }
            .sorted { (entries[$0].due, $0) < (entries[$1].due, $1) }
        return due.prefix(limit).map { index in
            entries[index].attempts += 1
            entries[index].due = until
            return OutboxItem(message: entries[index].message, attempt: entries[index].attempts)
        }
    }

    mutating func settle(_ item: OutboxItem, _ outcome: DeliveryOutcome, at time: Double) throws(StoreError) {
        let index = entries.firstIndex {
            $0.message.id == item.message.id && $0.attempts == item.attempt && $0.settled == nil
        }
        guard let index else { throw .fenced("message \(item.message.id)") }
        switch outcome {
        case .done: entries[index].settled = time
        case .retry(let delay): entries[index].due = time + delay.seconds
        }
    }

    mutating func removeSettled(before time: Double) -> Int {
        let count = entries.count
        entries.removeAll { $0.settled.map { $0 < time } ?? false }
        return count - entries.count
    }
}
