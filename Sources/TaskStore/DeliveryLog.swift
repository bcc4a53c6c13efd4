import MixModel

/// An attempt to deliver a message.
public struct DeliveryAttempt: Hashable, Codable, Sendable {
    /// Number of the attempt, from 1. It continues when the message is sent again.
    public var number: Int
    /// Time at which the attempt began, in seconds since 1970.
    public var at: Double
    /// HTTP status of the answer; `nil` if there was none.
    public var code: Int?
    /// Duration in milliseconds.
    public var milliseconds: Int
    /// Reason for the failure, in words; contains no secret.
    public var error: String?
    /// The endpoint's URL, without the query.
    public var url: String

    public init(number: Int, at: Double, code: Int?, milliseconds: Int, error: String?, url: String) {
        self.number = number
        self.at = at
        self.code = code
        self.milliseconds = milliseconds
        self.error = error
        self.url = url
    }
}

/// The state of a message.
public enum DeliveryState: String, Hashable, Codable, Sendable, CaseIterable {
    case waiting, delivered
    /// The message was given up: a dead letter.
    case dead
}

/// A message and the state of its delivery.
public struct Delivery: Hashable, Sendable {
    public var message: OutboxMessage
    /// Number that increases in the order in which messages were stored.
    public var number: Int64
    public var state: DeliveryState
    /// Time at which the message was stored or sent again, in seconds since 1970.
    public var queuedAt: Double
    public var attempts: Int
    /// Time of the next attempt, in seconds since 1970; `nil` while an earlier message of its lane waits, and once the
    /// message is settled.
    public var due: Double?
    /// Time at which the message was delivered or given up, in seconds since 1970.
    public var settledAt: Double?
    public var lastAttempt: DeliveryAttempt?

    public init(
        message: OutboxMessage, number: Int64, state: DeliveryState, queuedAt: Double, attempts: Int, due: Double?,
        settledAt: Double?, lastAttempt: DeliveryAttempt?
    ) {
        self.message = message
        self.number = number
        self.state = state
        self.queuedAt = queuedAt
        self.attempts = attempts
        self.due = due
        self.settledAt = settledAt
        self.lastAttempt = lastAttempt
    }
}

/// An entry of the delivery log.
public struct LoggedAttempt: Hashable, Sendable {
    public var subscription: SubscriptionID
    /// Identifier of the message.
    public var message: String
    public var attempt: DeliveryAttempt
    /// Body of the message; empty if it is no longer kept.
    public var body: [UInt8]

    public init(subscription: SubscriptionID, message: String, attempt: DeliveryAttempt, body: [UInt8]) {
        self.subscription = subscription
        self.message = message
        self.attempt = attempt
        self.body = body
    }
}

/// The number of messages of a subscription by state.
public struct DeliveryCounts: Hashable, Sendable {
    public var waiting: Int
    public var dead: Int

    public init(waiting: Int, dead: Int) {
        self.waiting = waiting
        self.dead = dead
    }
}

/// Subscriptions, their deliveries and attempts, kept for as long as `Retention` specifies.
public protocol DeliveryLog: Sendable {
    /// Returns all subscriptions, ordered by identifier.
    func subscriptions() async throws(StoreError) -> [Versioned<Subscription>]
    /// Returns deliveries, newest first.
    ///
    /// - Parameter before: Returns only deliveries with a smaller number.
    func deliveries(
        of subscription: SubscriptionID, state: DeliveryState?, lane: String?, before: Int64?, limit: Int
    ) async throws(StoreError) -> [Delivery]
    func delivery(_ message: String, of subscription: SubscriptionID) async throws(StoreError) -> Delivery?
    /// Returns the attempts to deliver a message, oldest first.
    func attempts(of message: String, of subscription: SubscriptionID) async throws(StoreError) -> [DeliveryAttempt]
    /// Returns the attempts that began in this period (seconds since 1970), newest first.
    func attempts(
        of subscriptions: [SubscriptionID], in time: ClosedRange<Double>, offset: Int, limit: Int
    ) async throws(StoreError) -> [LoggedAttempt]
    func deliveryCounts(of subscription: SubscriptionID) async throws(StoreError) -> DeliveryCounts
    /// Returns the number of waiting messages of all subscriptions.
    func waitingMessages() async throws(StoreError) -> Int
}
