import MixModel

/// One attempt to deliver a message.
public struct DeliveryAttempt: Hashable, Codable, Sendable {
    /// 1 for the first; goes on when the message is sent anew.
    public var number: Int
    /// When it began, in seconds since 1970.
    public var at: Double
    /// The status of the answer; `nil` when none came.
    public var code: Int?
    /// In milliseconds.
    public var milliseconds: Int
    /// Why it failed, in words; holds no secret.
    public var error: String?
    /// Where it went, without the query.
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

/// What has become of a message.
public enum DeliveryState: String, Hashable, Codable, Sendable, CaseIterable {
    case waiting, delivered
    /// Given up: a dead letter.
    case dead
}

/// A message and what has become of it.
public struct Delivery: Hashable, Sendable {
    public var message: OutboxMessage
    /// Grows in the order in which messages were stored.
    public var number: Int64
    public var state: DeliveryState
    /// When it was stored or sent anew, in seconds since 1970.
    public var queuedAt: Double
    public var attempts: Int
    /// When it is sent next, in seconds since 1970; `nil` while one before it in its lane waits, and in the end.
    public var due: Double?
    /// When it was delivered or given up, in seconds since 1970.
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

/// One line of the delivery log.
public struct LoggedAttempt: Hashable, Sendable {
    public var subscription: SubscriptionID
    /// Of the message.
    public var message: String
    public var attempt: DeliveryAttempt
    /// Of the message; empty when that is not kept any more.
    public var body: [UInt8]

    public init(subscription: SubscriptionID, message: String, attempt: DeliveryAttempt, body: [UInt8]) {
        self.subscription = subscription
        self.message = message
        self.attempt = attempt
        self.body = body
    }
}

/// How many messages of a subscription are in which state.
public struct DeliveryCounts: Hashable, Sendable {
    public var waiting: Int
    public var dead: Int

    public init(waiting: Int, dead: Int) {
        self.waiting = waiting
        self.dead = dead
    }
}

/// Who is to be told, what became of it, and for how long that is known: `Retention`.
public protocol DeliveryLog: Sendable {
    /// Ordered by id.
    func subscriptions() async throws(StoreError) -> [Versioned<Subscription>]
    /// Newest first.
    ///
    /// - Parameter before: Only those with a smaller number.
    func deliveries(
        of subscription: SubscriptionID, state: DeliveryState?, lane: String?, before: Int64?, limit: Int
    ) async throws(StoreError) -> [Delivery]
    func delivery(_ message: String, of subscription: SubscriptionID) async throws(StoreError) -> Delivery?
    /// Oldest first.
    func attempts(of message: String, of subscription: SubscriptionID) async throws(StoreError) -> [DeliveryAttempt]
    /// Those that began in this time (seconds since 1970), newest first.
    func attempts(
        of subscriptions: [SubscriptionID], in time: ClosedRange<Double>, offset: Int, limit: Int
    ) async throws(StoreError) -> [LoggedAttempt]
    func deliveryCounts(of subscription: SubscriptionID) async throws(StoreError) -> DeliveryCounts
    /// Messages of all subscriptions that wait.
    func waitingMessages() async throws(StoreError) -> Int
}
