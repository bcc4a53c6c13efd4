/// How much is kept. What is beyond it is removed in small steps, between other writes and when nothing else is to do.
public struct Retention: Hashable, Sendable {
    /// Of one task; older ones are dropped now and then.
    public static let timelineEntries = 1000
    /// Of one task; older ones are dropped now and then.
    public static let switches = 200
    /// Of one layout. Dropped at once: the newest so many are there, no more.
    public static let layoutVersions = 100
    /// Of one layout; older ones are dropped now and then.
    public static let layoutEvents = 200

    /// Events younger than this are kept, in seconds, unless there are more than `events`. An event that is sent again
    /// after its first copy was removed is not known to be a duplicate; its sequence or time still tells that it is
    /// stale.
    public var eventAge: Double = 7 * 86_400
    /// Of all rooms together.
    public var events = 1_000_000
    /// How long the timeline and the switches of a task outlive its document, in seconds.
    public var removedTaskAge: Double = 86_400
    /// How long a message that was delivered or given up is known, and every attempt to deliver one, in seconds.
    public var deliveryAge: Double = 7 * 86_400
    /// Of the messages that were delivered or given up, and of the attempts: of all subscriptions together.
    public var deliveries = 500_000
    /// Messages of one subscription that may wait. What comes beyond it sends the oldest to the dead letters, now and then.
    public var waitingMessages = 5000

    public init() {}

    /// Rows of each kind removed in one step.
    static let step = 512
}
