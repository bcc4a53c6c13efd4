/// One subscription, unique in the service.
public struct SubscriptionID: Identifier {
    public let rawValue: String
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

/// Somebody who wants to be told of what happens, by HTTP. One subscription is one endpoint: its messages are ordered in
/// each room, and what it does not take delays nobody else's.
public struct Subscription: Hashable, Codable, Sendable {
    /// Which messages it gets, and how they are signed and repeated.
    public enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
        /// CloudEvents, signed as Standard Webhooks are.
        case own
        /// `CreateEventSub` of the ApsaraVideo Live format: rooms and people.
        case roomEvents
        /// `CreateRtcMPUEventSub`: destinations of tasks.
        case taskEvents
    }

    public let id: SubscriptionID
    public let app: AppID
    public let kind: Kind
    /// Where messages are posted to. Its query may hold a secret: never logged.
    public var url: String
    /// Names of rooms; `nil` = every room of the app.
    public var rooms: [String]?
    /// Whose doings are told, where somebody does something; `nil` = everybody's.
    public var users: [UserID]?
    /// `nil` = everything that the kind tells.
    public var topics: Set<Topic>?
    /// False: nothing is stored for it until it is true again.
    public var isEnabled: Bool
    /// For people.
    public var note: String?
    /// What messages are signed with: the newest first, then those that were replaced and still hold.
    public var secrets: [Secret]
    /// Seconds since 1970.
    public var createdAt: Double
    /// Seconds since 1970.
    public var modifiedAt: Double

    /// A key that sender and receiver share.
    public struct Secret: Hashable, Codable, Sendable {
        /// `whsec_` and the key in Base64.
        public var text: String
        /// Seconds since 1970; `nil` for the newest.
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

    /// Whether it is to be told. Of another app's rooms never.
    public func wants(_ occurrence: Occurrence) -> Bool {
        let topic = occurrence.topic
        guard isEnabled, kind.tells(topic), topics?.contains(topic) ?? true, occurrence.room.app == app,
            rooms?.contains(where: occurrence.room.name.hasSameUTF8) ?? true
        else { return false }
        guard let users, let user = occurrence.user else { return true }
        return users.contains(user)
    }

    /// The content of two requests for a subscription is compared with it: everything that a request can ask for.
    public func isSameRequest(as other: Subscription) -> Bool {
        app == other.app && kind == other.kind && url == other.url && rooms == other.rooms && users == other.users
            && topics == other.topics && isEnabled == other.isEnabled && note == other.note
    }
}

extension Subscription.Kind {
    /// What a subscription of this kind is told at all.
    public func tells(_ topic: Topic) -> Bool {
        switch self {
        case .own: true
        case .roomEvents: Topic.ofChannels.contains(topic) || Topic.ofUsers.contains(topic)
        case .taskEvents: topic == .outputStateChanged
        }
    }
}
