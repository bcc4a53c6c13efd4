import MixModel

/// What the ApsaraVideo Live interface needs of subscriptions. Errors are this interface's.
protocol WireSubscriptions: Sendable {
    /// - Returns: The new subscription's id.
    func createChannelSubscription(_ wanted: ChannelSubscription, of app: AppID) async throws -> String
    func updateChannelSubscription(_ id: String, to wanted: ChannelSubscription, of app: AppID) async throws
    func deleteChannelSubscription(_ id: String, of app: AppID) async throws
    /// Oldest first.
    func channelSubscriptions(of app: AppID) async throws -> [(id: String, subscription: ChannelSubscription)]

    /// An app has one at most.
    ///
    /// - Returns: The new subscription's id.
    func createTaskSubscription(_ wanted: TaskSubscription, of app: AppID) async throws -> String
    /// - Returns: Its id.
    func updateTaskSubscription(
        of app: AppID, _ change: @escaping @Sendable (inout TaskSubscription) -> Void
    ) async throws -> String
    func deleteTaskSubscription(of app: AppID) async throws
    func taskSubscription(of app: AppID) async throws -> (id: String, subscription: TaskSubscription)?

    /// Attempts to deliver something, newest first.
    func attempts(_ query: DeliveryQuery, of app: AppID) async throws -> DeliveryPage
}

/// What an app wants to be told of its channels.
struct ChannelSubscription: Hashable, Sendable {
    enum Event: String, Hashable, Sendable, CaseIterable {
        case channel = "ChannelEvent"
        case user = "UserEvent"
    }
    var url: String
    var events: [Event]
    /// `nil` = all.
    var channel: String?
    /// Of the channel; empty = all.
    var users: [String] = []
    /// In seconds since 1970; set by whoever keeps it.
    var createdAt = 0.0
    var changedAt = 0.0
}

/// What an app wants to be told of its tasks.
struct TaskSubscription: Hashable, Sendable {
    var url: String
    /// `nil` = all.
    var channels: [String]?
    /// In seconds since 1970; set by whoever keeps it.
    var createdAt = 0.0
}

/// Which attempts are asked for.
struct DeliveryQuery: Hashable, Sendable {
    enum Kind: Hashable, Sendable { case channels, tasks }
    var kind: Kind
    /// `nil` = of every subscription of the kind.
    var subscription: String?
    /// In seconds since 1970, both ends included.
    var times: ClosedRange<Double>
    /// How many to leave out, and how many to give.
    var skipping: Int
    var limit: Int
}

struct DeliveryPage: Hashable, Sendable {
    struct Attempt: Hashable, Sendable {
        var subscription: String
        var message: String
        /// In seconds since 1970.
        var time: Double
        var url: String
        /// Of the answer; 0 when there was none.
        var status: Int
        var milliseconds: Int
        var body: String
    }
    var attempts: [Attempt]
    var hasMore: Bool
}
