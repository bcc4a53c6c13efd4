/// A topic of messages to subscriptions. The raw value is the CloudEvents `type` of messages in the project's own
/// format.
public enum Topic: String, Hashable, Codable, Sendable, CaseIterable {
    /// The first participant has arrived.
    case roomOpened = "room.opened"
    /// The last participant has left, or the room was closed.
    case roomClosed = "room.closed"
    /// The state of the room's streaming, recording or HLS, as shown by apps, has changed.
    case roomServicesChanged = "room.servicesChanged"
    case participantJoined = "participant.joined"
    case participantLeft = "participant.left"
    case participantRoleChanged = "participant.roleChanged"
    /// An operator has muted, hidden or otherwise controlled a user, or has ended such a control.
    case participantControlChanged = "participant.controlChanged"
    case streamPublished = "stream.published"
    /// A stream was muted or unmuted, or its camera was turned off or on.
    case streamUpdated = "stream.updated"
    case streamUnpublished = "stream.unpublished"
    case taskStateChanged = "task.stateChanged"
    /// Viewers see a different composition: bypass, mix or slate.
    case taskSwitched = "task.switched"
    case outputStateChanged = "output.stateChanged"
    /// The file or an image of a layout on air cannot be used; the last good version stays on air.
    case layoutFailed = "layout.failed"
    /// A comment or a gift in the room's channel. Sent only to subscriptions that name it, and only if channels are
    /// stored.
    case channelMessage = "channel.message"
    /// A moderator has deleted a message of the room's channel; sent under the same conditions as `channelMessage`.
    case channelMessageDeleted = "channel.messageDeleted"
    /// A test message, requested through the API to try a receiver.
    case test = "subscription.test"

    /// Topics that a subscription receives only if it names them, because there may be very many messages.
    public static let onRequest: Set<Topic> = [.channelMessage, .channelMessageDeleted]
    /// Topics of `ChannelEvent` in the ApsaraVideo Live format.
    public static let ofChannels: Set<Topic> = [.roomOpened, .roomClosed]
    /// Topics of `UserEvent` in the ApsaraVideo Live format.
    public static let ofUsers: Set<Topic> = [
        .participantJoined, .participantLeft, .participantRoleChanged, .streamPublished, .streamUnpublished,
    ]
}

/// An occurrence that subscriptions may report. Contains unredacted URLs of outputs.
public struct Occurrence: Hashable, Sendable {
    public var room: RoomID
    /// Time of the occurrence, in seconds since 1970.
    public var at: Double
    public var kind: Kind

    public init(room: RoomID, at: Double, kind: Kind) {
        self.room = room
        self.at = at
        self.kind = kind
    }

    public enum Kind: Hashable, Sendable {
        case roomOpened
        case roomClosed
        case roomServicesChanged(ServiceStates)
        case participantJoined(Person)
        case participantLeft(Person)
        case participantRoleChanged(Person, from: Role?)
        case participantControlChanged(ParticipantControl)
        case streamPublished(Person, Stream)
        case streamUpdated(Person, Stream)
        case streamUnpublished(Person, Stream)
        case taskStateChanged(TaskID, TaskState, from: TaskState?, reason: EndReason?, error: String?)
        case taskSwitched(TaskID, SwitchRecord)
        case outputStateChanged(TaskID, OutputChange, url: String)
        case layoutFailed(TaskID, layout: String, message: String)
        case channelMessage(ChannelMessage)
        case channelMessageDeleted(id: Int64)
        case test
    }

    /// The participant who caused an occurrence.
    public struct Person: Hashable, Sendable {
        public var user: UserID
        public var name: String?
        public var role: Role?
        public var joinOrder: Int
        /// Whether the participant is publishing a stream.
        public var publishes: Bool

        public init(_ participant: Participant) {
            user = participant.user
            name = participant.name
            role = participant.role
            joinOrder = participant.joinOrder
            publishes = !participant.streams.isEmpty
        }
    }

    /// A stream without its URL.
    public struct Stream: Hashable, Sendable {
        public var kind: StreamKind
        public var audio: Bool
        public var video: Bool

        public init(_ stream: LiveStream) { (kind, audio, video) = (stream.kind, stream.audio, stream.video) }
    }

    public var topic: Topic {
        switch kind {
        case .roomOpened: .roomOpened
        case .roomClosed: .roomClosed
        case .roomServicesChanged: .roomServicesChanged
        case .participantJoined: .participantJoined
        case .participantLeft: .participantLeft
        case .participantRoleChanged: .participantRoleChanged
        case .participantControlChanged: .participantControlChanged
        case .streamPublished: .streamPublished
        case .streamUpdated: .streamUpdated
        case .streamUnpublished: .streamUnpublished
        case .taskStateChanged: .taskStateChanged
        case .taskSwitched: .taskSwitched
        case .outputStateChanged: .outputStateChanged
        case .layoutFailed: .layoutFailed
        case .channelMessage: .channelMessage
        case .channelMessageDeleted: .channelMessageDeleted
        case .test: .test
        }
    }

    /// The participant who caused the occurrence; `nil` if none did.
    public var user: UserID? {
        switch kind {
        case .participantJoined(let person), .participantLeft(let person), .participantRoleChanged(let person, _),
            .streamPublished(let person, _), .streamUpdated(let person, _), .streamUnpublished(let person, _):
            person.user
        case .participantControlChanged(let control): control.user
        case .channelMessage(let message): message.user
        default: nil
        }
    }
}

/// The state of a task, as reported to clients.
public enum TaskState: String, Hashable, Codable, Sendable, CaseIterable {
    case starting, running, recovering, stopped, failed
}
