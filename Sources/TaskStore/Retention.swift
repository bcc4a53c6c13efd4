/// Limits on the amount of data in the store. Rows beyond them are removed in small steps, between other writes and
/// while the store is idle.
public struct Retention: Hashable, Sendable {
    /// Maximum number of timeline entries kept of one task. Older ones are removed from time to time.
    public static let timelineEntries = 1000
    /// Maximum number of switches kept of one task. Older ones are removed from time to time.
    public static let switches = 200
    /// Maximum number of versions kept of one layout. Older ones are removed at once.
    public static let layoutVersions = 100
    /// Maximum number of events kept of one layout. Older ones are removed from time to time.
    public static let layoutEvents = 200

    /// Maximum age of events, in seconds, unless there are more than `events`.
    ///
    /// An event that is sent again after its first copy was removed is no longer recognised as a duplicate. Its
    /// sequence or time still shows that it is stale.
    public var eventAge: Double = 7 * 86_400
    /// Maximum number of events kept, of all rooms together.
    public var events = 1_000_000
    /// Time for which the timeline and the switches of a task outlive its document, in seconds.
    public var removedTaskAge: Double = 86_400
    /// Maximum age of settled messages (delivered or given up) and of delivery attempts, in seconds.
    public var deliveryAge: Double = 7 * 86_400
    /// Maximum number of settled messages, and of attempts, of all subscriptions together.
    public var deliveries = 500_000
    /// Maximum number of waiting messages of one subscription. From time to time, the oldest beyond it become dead
    /// letters.
    public var waitingMessages = 5000

    /// Maximum age of messages in rooms' channels, in seconds.
    public var messageAge: Double = 30 * 86_400
    /// Maximum number of channel messages kept, of all rooms together.
    public var messages = 1_000_000

    public init() {}

    /// Maximum number of rows of each kind removed in one step.
    package static let step = 512
}
