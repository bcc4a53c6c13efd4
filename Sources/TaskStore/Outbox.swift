import MixModel

/// A message to deliver to a subscription's endpoint.
public struct OutboxMessage: Hashable, Sendable {
    /// Identifier, unique in the subscription: two messages with the same identifier are the same message.
    public var id: String
    public var subscription: SubscriptionID
    /// The message's lane. Messages of one lane are delivered one after another, in the order in which they were
    /// stored.
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

/// A message that a caller took in order to deliver it.
public struct OutboxItem: Hashable, Sendable {
    public var message: OutboxMessage
    /// Number of the attempt, from 1. It continues when the message is sent again.
    public var attempt: Int
    /// Number of attempts before the message was sent again.
    public var earlierAttempts: Int
    /// Time at which the message was stored or sent again, in seconds since 1970.
    public var queuedAt: Double

    public init(message: OutboxMessage, attempt: Int, earlierAttempts: Int = 0, queuedAt: Double) {
        self.message = message
        self.attempt = attempt
        self.earlierAttempts = earlierAttempts
        self.queuedAt = queuedAt
    }
}

/// The result of taking messages of a subscription.
public struct OutboxTake: Hashable, Sendable {
    public var items: [OutboxItem]
    /// Time until the next message that was not taken is due; zero if it is already due. `nil` if no other message
    /// waits, except behind the ones taken.
    public var next: Duration?

    /// Maximum wait, in seconds. The store is then asked again, in case a change of the clock made a due time wrong.
    package static let longestWait = 3600.0

    public init(items: [OutboxItem], next: Duration?) {
        self.items = items
        self.next = next
    }
}

/// The outcome of an attempt to deliver.
public enum DeliveryOutcome: Hashable, Sendable {
    case delivered
    case retry(after: Duration)
    /// The message becomes a dead letter.
    case givenUp
}

/// Messages that are stored together with the change that they report, and delivered at least once.
///
/// In each lane of a subscription, messages are taken one after another: the next one is due when the previous one was
/// delivered or given up. At most `Retention.waitingMessages` of a subscription wait; the oldest beyond that number
/// become dead letters.
public protocol Outbox: Sendable {
    /// Takes due messages of one subscription, the longest due first.
    ///
    /// A message that is not settled within `lease` becomes due again, because its taker may be dead.
    func takeMessages(
        of subscription: SubscriptionID, limit: Int, lease: Duration
    ) async throws(StoreError) -> OutboxTake
    /// Settles a message that was taken.
    ///
    /// - Parameter attempt: The attempt for the delivery log; `nil` if none was made.
    /// - Throws: `StoreError.fenced` if the message was taken again in the meantime: its new taker settles it. The
    ///   attempt is still logged.
    func settle(
        _ item: OutboxItem, _ outcome: DeliveryOutcome, attempt: DeliveryAttempt?
    ) async throws(StoreError)
    /// Returns the subscriptions with waiting messages, in order.
    func waitingSubscriptions() async throws(StoreError) -> [SubscriptionID]
    /// Sends a delivered or given-up message again, behind all waiting messages of its lane.
    ///
    /// - Returns: False if there is no such message, or it still waits.
    func sendAgain(_ message: String, of subscription: SubscriptionID) async throws(StoreError) -> Bool
    /// Sends the oldest dead letters again, in their order, as `sendAgain` does.
    ///
    /// - Returns: The number of messages sent again.
    func sendDeadLettersAgain(of subscription: SubscriptionID, limit: Int) async throws(StoreError) -> Int
}
