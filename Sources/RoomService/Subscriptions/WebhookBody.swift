import EventSubscription
import Foundation
import LayoutEngine
import MixModel
import TaskStore

/// The bodies that are posted to endpoints.
enum WebhookBody {
    /// Returns the body of a message; `nil` when the subscription's format has none for the occurrence.
    ///
    /// - Parameters:
    ///   - id: Identifier of the message, the same in every repetition.
    ///   - number: A number that grows with every reported occurrence.
    static func bytes(
        of occurrence: Occurrence, id: String, number: Int64, for subscription: Subscription
    ) -> [UInt8]? {
        switch subscription.kind {
        case .own: encoded(WebhookEvent(occurrence, id: id, number: number))
        case .roomEvents: RoomCallback(occurrence, id: id, subscription: subscription).map(encoded)
        case .taskEvents: TaskCallback(occurrence, id: id, subscription: subscription).map(encoded)
        }
    }

    static func contentType(of kind: Subscription.Kind) -> String {
        kind == .own ? "application/cloudevents+json" : "application/json"
    }

    private static func encoded(_ value: some Encodable) -> [UInt8] { Array(jsonBytes(value).readableBytesView) }
}

/// The service's own message: a CloudEvent in structured mode (CloudEvents 1.0.2, JSON format).
struct WebhookEvent: Encodable {
    let specversion = "1.0"
    var id: String
    let source = "mixorchestrator"
    var type: Topic
    /// Name of the room.
    var subject: String
    var time: Date
    /// Tenant, as in incoming events.
    var app: AppID
    /// Number that grows with every message of the service (CloudEvents extension "sequence").
    var sequence: String
    let datacontenttype = "application/json"
    /// Schema of `data`. The number changes when a field changes its meaning or is removed; new fields do not change
    /// it.
    let dataschema = "urn:mixorchestrator:webhook:1"
    var data: Content

    /// The content apart from room and time. Fields that a topic does not have are left out.
    struct Content: Encodable {
        var user: UserID?
        var name: String?
        var role: Role?
        var previousRole: Role?
        var stream: StreamKind?
        var audio: Bool?
        var video: Bool?
        var task: String?
        var state: String?
        var previousState: String?
        var muted: Bool?
        /// Loudness in mixes, in percent.
        var gain: Int?
        var hidden: Bool?
        var endReason: EndReason?
        var output: OutputID?
        /// URL of the output, redacted.
        var url: String?
        var reconnects: Int?
        var error: String?
        var errorCode: OutputErrorCode?
        var rtmp: ServiceDocument?
        var recording: ServiceDocument?
        var browserRecording: ServiceDocument?
        var serverRecording: ServiceDocument?
        var hls: ServiceDocument?
        var from: OnAir?
        var to: OnAir?
        var cause: String?
        var latencyMs: Double?
        var videoGapMs: Double?
        var audioGapMs: Double?
        var layout: String?
        var message: String?
        var id: Int64?
        var kind: ChannelMessage.Kind?
        var text: String?
        var count: Int?
        var gift: ChannelGift?
    }

    init(_ occurrence: Occurrence, id: String, number: Int64) {
        self.id = id
        type = occurrence.topic
        subject = occurrence.room.name
        time = Date(timeIntervalSince1970: occurrence.at)
        app = occurrence.room.app
        sequence = "\(number)"
        data = Content(occurrence.kind)
    }
}

extension WebhookEvent.Content {
    init(_ kind: Occurrence.Kind) {
        switch kind {
        case .roomOpened, .roomClosed: break
        case .roomServicesChanged(let states):
            rtmp = ServiceDocument(states.rtmp)
            recording = ServiceDocument(states.recording)
            browserRecording = recording
            serverRecording = ServiceDocument(states.streamRecordings)
            hls = ServiceDocument(states.hls)
        case .participantJoined(let person), .participantLeft(let person): take(person)
        case .participantRoleChanged(let person, let from):
            take(person)
            previousRole = from
        case .participantControlChanged(let control):
            user = control.user
            (muted, gain, hidden) = (control.muted, control.gain, control.hidden)
        case .streamPublished(let person, let stream), .streamUpdated(let person, let stream):
            take(person)
            self.stream = stream.kind
            (audio, video) = (stream.audio, stream.video)
        case .streamUnpublished(let person, let stream):
            take(person)
            self.stream = stream.kind
        case .taskStateChanged(let task, let state, let from, let reason, let error):
            self.task = task.name
            self.state = state.rawValue
            previousState = from?.rawValue
            endReason = reason
            self.error = error.map(Redaction.text)
        case .taskSwitched(let task, let record):
            self.task = task.name
            (from, to, cause) = (record.from, record.to, record.cause)
            latencyMs = record.latencyMs
            (videoGapMs, audioGapMs) = (record.videoGapMs, record.audioGapMs)
        case .outputStateChanged(let task, let change, let url):
            self.task = task.name
            output = change.output
            state = change.state.rawValue
            previousState = change.from?.rawValue
            self.url = StreamURL.redacted(url)
            reconnects = change.reconnects
            error = change.error.map(Redaction.text)
            errorCode = change.errorCode
        case .layoutFailed(let task, let layout, let message):
            self.task = task.name
            self.layout = layout
            self.message = message
        case .channelMessage(let message):
            self.kind = message.kind
            (id, user, name) = (message.id, message.user, message.name)
            (text, count, gift) = (message.text, message.count, message.gift)
        case .channelMessageDeleted(let id): self.id = id
        case .test: message = "a test message, requested by API"
        }
    }

    private mutating func take(_ person: Occurrence.Person) {
        (user, name, role) = (person.user, person.name, person.role)
    }
}
