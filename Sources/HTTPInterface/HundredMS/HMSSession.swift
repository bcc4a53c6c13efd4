import MixModel

/// One external stream, live stream or recording: what was asked for, what it holds in its room, and how far it is.
///
/// The document is stored: fields that are added later are optional.
struct HMSSession: Hashable, Codable, Sendable {
    /// The kinds, by their names in paths.
    enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
        case externalStream = "external-streams"
        case liveStream = "live-streams"
        case recording = "recordings"

        /// Whether 100ms runs it in the one browser that sends RTMP and records. HLS has another.
        var isBeam: Bool { self != .liveStream }
    }

    enum Status: String, Hashable, Codable, Sendable, CaseIterable {
        case starting, running, stopping
        case postProcessing = "post_processing"
        case completed, failed

        /// Whether it can still be stopped.
        var isLive: Bool { self == .starting || self == .running }
        var isOver: Bool { self == .completed || self == .failed }
    }

    struct Size: Hashable, Codable, Sendable {
        var width: Int
        var height: Int
    }

    /// A destination, and its output in the room's settings.
    struct Output: Hashable, Codable, Sendable {
        var id: OutputID
        var url: String
    }

    /// Why it ended early.
    struct Failure: Hashable, Codable, Sendable {
        enum Kind: String, Hashable, Codable, Sendable {
            case `internal` = "INTERNAL_ERROR"
            case retries = "MAX_RETRIES_REACHED"
            case upload = "UPLOAD_ERROR"
        }
        var kind: Kind
        /// Redacted.
        var message: String
    }

    /// The recording of the room that it uses.
    struct Recorder: Hashable, Codable, Sendable {
        /// Id of the room's recording.
        var id: String
        /// Whether it ends with the last session that uses it, because one of them began it.
        var isOwn: Bool
        /// Whether only sound is recorded; `nil` = false.
        var audioOnly: Bool?
        /// Settings with which it goes on after a pause; `nil` = it is not paused.
        var held: RecordingSettings?
    }

    /// The HLS of the room that it uses.
    struct HLS: Hashable, Codable, Sendable {
        var keepsSegments: Bool
        var recordsFile: Bool
        /// Free text that is shown with the variants.
        var metadata: String?
        /// Whether it ends with the last session that uses it, because one of them began it.
        var isOwn: Bool
        /// Directory name of the segments, once there are some.
        var directory: String?
        /// Whether segments are left out of what is kept at the moment; `nil` = false.
        var isPaused: Bool?
    }

    var id: String
    var kind: Kind
    var room: RoomID
    /// The same for all that run in a room at the same time.
    var session: String
    /// Id of the access key of the caller.
    var accessKey: String
    /// URL of this service as the caller knows it.
    var base: String
    var meetingURL: String?
    /// Participant that is the page; `nil` without one.
    var page: UserID?
    var outputs: [Output] = []
    var recorder: Recorder?
    var hls: HLS?
    var size: Size?
    var destination: String?
    /// Whether the room had no outputs of its own before; they are then the configured ones again afterwards.
    var hidesDefaults = false

    var status = Status.starting
    /// Times in seconds since 1970.
    var createdAt: Double
    var updatedAt: Double
    var startedAt: Double?
    var stoppedAt: Double?
    /// Why it ended, in 100ms' words.
    var reason: String?
    var failure: Failure?
    /// Whether the room has everything of it; false while it is being started.
    var isComplete = false
    /// Whether the room has something of it.
    var holdsRoom = true
    var sights = Sights()
    var assets: [HMSAsset] = []
    /// Webhooks that have not been delivered, oldest first.
    var outbox: [HMSNotice] = []

    /// What has been seen of the room so far.
    struct Sights: Hashable, Codable, Sendable {
        var open = false
        var people = false
        /// Times since which it is so.
        var emptySince: Double?
        var pageGoneSince: Double?
    }

    /// Limits of its duration, in seconds; 0 = none.
    struct Limits: Hashable, Sendable {
        var longest: Double
        var empty: Double
    }

    init(
        id: String, kind: Kind, room: RoomID, session: String, accessKey: String, base: String, at now: Double
    ) {
        self.id = id
        self.kind = kind
        self.room = room
        self.session = session
        self.accessKey = accessKey
        self.base = base
        createdAt = now
        updatedAt = now
    }

    var app: AppID { room.app }

    /// Whether its recording is paused.
    var isPaused: Bool { recorder?.held != nil || hls?.isPaused == true }

    /// Seconds on air.
    var duration: Double { max(0, (stoppedAt ?? updatedAt) - (startedAt ?? stoppedAt ?? updatedAt)) }

    /// Returns a new identifier: 24 hexadecimal digits.
    static func newID() -> String {
        let text = String(UInt64.random(in: 0 ... .max), radix: 16) + String(UInt64.random(in: 0 ... .max), radix: 16)
        return String((text + String(repeating: "0", count: 24)).prefix(24))
    }
}
