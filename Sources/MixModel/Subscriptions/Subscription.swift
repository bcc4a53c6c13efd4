/// An identifier of a subscription, unique in the service.
public struct SubscriptionID: Identifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// A subscription to messages about occurrences, delivered over HTTP.
///
/// Each subscription has one endpoint. Its messages are in order within each room, and messages that it does not accept
/// delay no other subscription.
public struct Subscription: Hashable, Codable, Sendable {
    /// The kind of a subscription, which determines its messages, their signatures and their repetitions.
    public enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
        /// CloudEvents, signed as in Standard Webhooks.
        case own
        /// `CreateEventSub` of the ApsaraVideo Live format: rooms and participants.
        case roomEvents
        /// `CreateRtcMPUEventSub`: destinations of tasks.
        case taskEvents
    }

    public let id: SubscriptionID
    public let app: AppID
    public let kind: Kind
    /// URL to which messages are posted. Its query may contain a secret; never logged.
    public var url: String
    /// Names of rooms; `nil` means all rooms of the app.
    public var rooms: [String]?
    /// Participants whose actions are reported; `nil` means all. It does not restrict occurrences that no participant
    /// caused.
    public var users: [UserID]?
    /// Topics; `nil` means all that the kind covers, except those of `Topic.onRequest`.
    public var topics: Set<Topic>?
    /// Whether the subscription is enabled. While false, no message is stored for it.
    public var isEnabled: Bool
    /// Note for human readers.
    public var note: String?
    /// Keys with which messages are signed: the newest first, then replaced ones that are still valid.
    public var secrets: [Secret]
    /// Time of creation, in seconds since 1970.
    public var createdAt: Double
    /// Time of the last modification, in seconds since 1970.
    public var modifiedAt: Double

    /// A key shared by sender and receiver.
    public struct Secret: Hashable, Codable, Sendable {
        /// `whsec_` followed by the key in Base64.
        public var text: String
        /// End of validity, in seconds since 1970; `nil` for the newest key.
        public var validUntil: Double?

        public init(text: String, validUntil: Double? = nil) {
            self.text = text
            self.validUntil = validUntil
        }
    }

    public init(
        id: SubscriptionID, app: AppID, kind: Kind, url: String, rooms: [String]? = nil, users: [UserID]? = nil,
        topics: Set<Topic>? = nil, isEnabled: Bool = true, note: String? = nil, secrets: [Secret] = [],
        createdAt: Double
    ) {
        self.id = id
        self.app = app
        self.kind = kind
        self.url = url
        self.rooms = rooms
        self.users = users
        self.topics = topics
        self.isEnabled = isEnabled
        self.note = note
        self.secrets = secrets
        self.createdAt = createdAt
        modifiedAt = createdAt
    }

    /// Returns whether the subscription reports an occurrence. Occurrences in rooms of another app are never reported.
    public func wants(_ occurrence: Occurrence) -> Bool {
        let topic = occurrence.topic
        guard isEnabled, kind.tells(topic), topics?.contains(topic) ?? !Topic.onRequest.contains(topic),
            occurrence.room.app == app, rooms?.contains(where: occurrence.room.name.hasSameUTF8) ?? true
        else { return false }
        guard let users, let user = occurrence.user else { return true }
        return users.contains(user)
    }

    /// Returns whether the subscription agrees with a request in everything that the request can specify.
    ///
    /// - Parameter other: The requested subscription; without secrets if the request leaves the choice of one to the
    ///   service.
    public func isSameRequest(as other: Subscription) -> Bool {
        app == other.app && kind == other.kind && url == other.url && rooms == other.rooms && users == other.users
            && topics == other.topics && isEnabled == other.isEnabled && note == other.note
            && (other.secrets.isEmpty || other.secrets.first?.text == secrets.first?.text)
    }
}

extension Subscription.Kind {
    /// Returns whether subscriptions of this kind cover a topic.
    public func tells(_ topic: Topic) -> Bool {
        switch self {
        case .own: true
        case .roomEvents: Topic.ofChannels.contains(topic) || Topic.ofUsers.contains(topic)
        case .taskEvents: topic == .outputStateChanged
        }
    }
}
