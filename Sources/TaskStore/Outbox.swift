import MixModel

/// Something to be delivered to a subscription's endpoint.
public struct OutboxMessage: Hashable, Sendable {
    /// Unique in the subscription: the same id twice is one message.
    public var id: String
    public var subscription: SubscriptionID
    /// Messages of one lane are delivered one after another, in the order in which they were stored.
    public var lane: String
    public var topic: Topic
    public var body: [UInt8]

    public init(id: String, subscription: SubscriptionID, lane: String, topic: Topic, body: [UInt8]) {
        self.id = id
        self.subscription = subscription
        self.lane = lane
        self.topic = topic
        self.body = body
    }
}

/// A message that somebody took to deliver it.
public struct OutboxItem: Hashable, Sendable {
    public var message: OutboxMessage
    /// 1 for the first time that it was taken; goes on when it is sent anew.
    public var attempt: Int
    /// Attempts before it was sent anew.
    public var earlierAttempts: Int
    /// When it was stored or sent anew, in seconds since 1970.
    public var queuedAt: Double

    public init(message: OutboxMessage, attempt: Int, earlierAttempts: Int = 0, queuedAt: Double) {
        self.message = message
        self.attempt = attempt
        self.earlierAttempts = earlierAttempts
        self.queuedAt = queuedAt
    }
}

/// What was taken of a subscription's messages.
public struct OutboxTake: Hashable, Sendable {
    public var items: [OutboxItem]
    /// How long until the next of those that were not taken is due; zero when it is. `nil` = nothing else waits, but
    /// behind what was taken.
    public var next: Duration?

    /// In seconds; the store is asked again then, whatever a clock made of a time.
    static let longestWait = 3600.0

    public init(items: [OutboxItem], next: Duration?) {
        self.items = items
        self.next = next
    }
}

/// What became of an attempt to deliver.
public enum DeliveryOutcome: Hashable, Sendable {
    case delivered
    case retry(after: Duration)
    /// It goes to the dead letters.
    case givenUp
}

/// Messages that were stored together with the change they tell of, and are delivered at least once.
///
/// In each lane of a subscription one message is taken after another: the next one is due when the one before it was
/// delivered or given up. At most `Retention.waitingMessages` of a subscription wait; the oldest beyond go to the dead
/// letters.
public protocol Outbox: Sendable {
    /// Takes messages of one subscription that are due, the longest due first. One that is not settled within `lease` is
    /// due again, since who took it may be dead.
    func takeMessages(
        of subscription: SubscriptionID, limit: Int, lease: Duration
    ) async throws(StoreError) -> OutboxTake
    /// - Parameter attempt: Goes into the delivery log; `nil` when nothing was tried.
    /// - Throws: `StoreError.fenced` when the message was taken again meanwhile: its new taker settles it. It is in the
    ///   log all the same.
    func settle(
        _ item: OutboxItem, _ outcome: DeliveryOutcome, attempt: DeliveryAttempt?
    ) async throws(StoreError)
    /// Those with messages that wait, ordered.
    func waitingSubscriptions() async throws(StoreError) -> [SubscriptionID]
    /// Sends a message anew that was delivered or given up: behind everything that waits in its lane.
    ///
    /// - Returns: False when there is no such message, or it still waits.
    func sendAgain(_ message: String, of subscription: SubscriptionID) async throws(StoreError) -> Bool
    /// As `sendAgain`, for the oldest of the dead letters, in their order.
    ///
    /// - Returns: How many.
    func sendDeadLettersAgain(of subscription: SubscriptionID, limit: Int) async throws(StoreError) -> Int
}
