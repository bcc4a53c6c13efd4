/// Limits on what the store keeps. Rows beyond them are removed in small steps, between other writes and while the
/// store is idle.
public struct Retention: Hashable, Sendable {
    /// The most timeline entries kept of one task. Older ones are removed from time to time.
    public static let timelineEntries = 1000
    /// The most switches kept of one task. Older ones are removed from time to time.
    public static let switches = 200
    /// The most versions kept of one layout. Older ones are removed at once.
    public static let layoutVersions = 100
    /// The most events kept of one layout. Older ones are removed from time to time.
    public static let layoutEvents = 200

    /// Age up to which events are kept, in seconds, unless there are more than `events`.
    ///
    /// An event that is sent again after its first copy was removed is no longer recognised as a duplicate. Its
    /// sequence or time still shows that it is stale.
    public var eventAge: Double = 7 * 86_400
    /// The most events kept, of all rooms together.
    public var events = 1_000_000
    /// Time for which the timeline and the switches of a task outlive its document, in seconds.
    public var removedTaskAge: Double = 86_400
    /// Age up to which settled messages (delivered or given up) and attempts to deliver are kept, in seconds.
    public var deliveryAge: Double = 7 * 86_400
    /// The most settled messages kept, and the most attempts, of all subscriptions together.
    public var deliveries = 500_000
    /// The most messages of one subscription that may wait. From time to time, the oldest beyond it go to the dead
    /// letters.
    public var waitingMessages = 5000

    /// Age up to which messages of rooms' channels are kept, in seconds.
    public var messageAge: Double = 30 * 86_400
    /// The most messages of channels kept, of all rooms together.
    public var messages = 1_000_000

    public init() {}

    /// The most rows of each kind removed in one step.
    package static let step = 512
}
