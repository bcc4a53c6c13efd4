/// Something to be delivered to somebody outside.
public struct OutboxMessage: Hashable, Sendable {
    /// Unique: the same id twice is one message.
    public var id: String
    /// What the one who delivers makes of it.
    public var kind: String
    public var body: [UInt8]

    public init(id: String, kind: String, body: [UInt8]) {
        self.id = id
        self.kind = kind
        self.body = body
    }
}

/// A message that somebody took to deliver it.
public struct OutboxItem: Hashable, Sendable {
    public var message: OutboxMessage
    /// 1 for the first time that it was taken.
    public var attempt: Int

    public init(message: OutboxMessage, attempt: Int) {
        self.message = message
        self.attempt = attempt
    }
}

/// What became of an attempt to deliver.
public enum DeliveryOutcome: Hashable, Sendable {
    /// Delivered, or given up.
    case done
    case retry(after: Duration)
}

/// Messages that were stored together with the change they tell of, and are delivered at least once.
public protocol Outbox: Sendable {
    /// Takes messages that are due, the longest due first. One that is not settled within `lease` is due again, since
    /// who took it may be dead.
    func takeMessages(limit: Int, lease: Duration) async throws(StoreError) -> [OutboxItem]
    /// - Throws: `StoreError.fenced` when the message was taken again meanwhile: its new taker settles it.
    func settle(_ item: OutboxItem, _ outcome: DeliveryOutcome) async throws(StoreError)
}
