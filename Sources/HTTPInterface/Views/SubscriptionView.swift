import EventSubscription
import Foundation
import MixModel
import RoomService
import TaskStore

/// A subscription as the API shows it.
struct SubscriptionView: Encodable {
    struct Delivery: Encodable {
        enum State: String, Encodable {
            /// Messages are sent as they arrive.
            case active
            /// The endpoint has failed several times, and nothing is sent for a while.
            case failing
            case disabled
        }
        var state: State
        /// Number of waiting messages.
        var waiting: Int
        /// Number of messages that were given up and are kept.
        var dead: Int
    }

    var id: SubscriptionID
    var kind: Subscription.Kind
    /// URL without its query.
    var url: String
    var events: [Topic]?
    var rooms: [String]?
    var users: [UserID]?
    var note: String?
    var enabled: Bool
    var createdAt: Date
    var modifiedAt: Date
    /// Shown once, in the answer to the request that created it.
    var secret: String?
    /// Time until which messages are also signed with the previous secret.
    var previousSecretUntil: Date?
    var delivery: Delivery?

    init(_ subscription: Subscription) {
        id = subscription.id
        kind = subscription.kind
        url = subscription.shownURL
        events = subscription.topics.map { $0.sorted { $0.rawValue < $1.rawValue } }
        rooms = subscription.rooms
        users = subscription.users
        note = subscription.note
        enabled = subscription.isEnabled
        createdAt = Date(timeIntervalSince1970: subscription.createdAt)
        modifiedAt = Date(timeIntervalSince1970: subscription.modifiedAt)
        let now = wallClock()
        previousSecretUntil = subscription.secrets.compactMap(\.validUntil).filter { $0 > now }.max().map {
            Date(timeIntervalSince1970: $0)
        }
    }
}

/// A message and its delivery, as the API shows it.
struct DeliveryView: Encodable {
    struct Attempt: Encodable {
        var number: Int
        var at: Date
        var code: Int?
        var milliseconds: Int
        var error: String?
        var url: String

        init(_ attempt: DeliveryAttempt) {
            number = attempt.number
            at = Date(timeIntervalSince1970: attempt.at)
            (code, milliseconds, error, url) = (attempt.code, attempt.milliseconds, attempt.error, attempt.url)
        }
    }

    /// Id of the message: its `webhook-id`.
    var id: String
    /// Grows in the order in which messages were stored.
    var number: Int64
    var event: Topic
    /// Absent for test messages.
    var room: String?
    var state: DeliveryState
    var queuedAt: Date
    var attempts: Int
    /// Absent while an earlier message of the room waits, and once delivery has ended.
    var nextAttemptAt: Date?
    var settledAt: Date?
    var lastAttempt: Attempt?
    /// All attempts, oldest first; absent in lists.
    var log: [Attempt]?
    /// Body as it is posted, but with redacted secrets; absent in lists.
    var body: String?

    init(_ delivery: Delivery) {
        id = delivery.message.id
        number = delivery.number
        event = delivery.message.topic
        room = delivery.message.lane.isEmpty ? nil : delivery.message.lane
        state = delivery.state
        queuedAt = Date(timeIntervalSince1970: delivery.queuedAt)
        attempts = delivery.attempts
        nextAttemptAt = delivery.due.map { Date(timeIntervalSince1970: $0) }
        settledAt = delivery.settledAt.map { Date(timeIntervalSince1970: $0) }
        lastAttempt = delivery.lastAttempt.map(Attempt.init)
    }
}
