import MixModel

/// One external stream, live stream or recording: the request, the resources that it holds in its room, and its
/// progress.
///
/// The document is stored: fields that are added later are optional.
struct HMSSession: Hashable, Codable, Sendable {
    /// The kinds, by their names in paths.
    enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
        case externalStream = "external-streams"
        case liveStream = "live-streams"
        case recording = "recordings"

        /// Whether 100ms runs it in the browser that sends RTMP and records. HLS has a separate one.
        var isBeam: Bool { self != .liveStream }
    }

    enum Status: String, Hashable, Codable, Sendable, CaseIterable {
        case starting, running, stopping
        case postProcessing = "post_processing"
        case completed, failed

        /// Whether the session can still be stopped.
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

    /// The reason why it ended early.
    struct Failure: Hashable, Codable, Sendable {
        enum Kind: String, Hashable, Codable, Sendable {
            case `internal` = "INTERNAL_ERROR"
            case retries = "MAX_RETRIES_REACHED"
            case upload = "UPLOAD_ERROR"
        }
        var kind: Kind
        /// Description, redacted.
        var message: String
    }

    /// The recording of the room that it uses.
    struct Recorder: Hashable, Codable, Sendable {
        /// Id of the room's recording.
        var id: String
        /// Whether it ends with the last session that uses it, because one of them began it.
        var isOwn: Bool
        /// Whether only audio is recorded; `nil` means false.
        var audioOnly: Bool?
        /// Settings with which it continues after a pause; `nil` if it is not paused.
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
        /// Directory name of the segments, once there are any.
        var directory: String?
        /// Whether segments are currently omitted from the kept playlists; `nil` means false.
        var isPaused: Bool?
    }

    var id: String
    var kind: Kind
    var room: RoomID
    /// Session id; the same for all sessions that run in a room at the same time.
    var session: String
    /// Id of the access key of the caller.
    var accessKey: String
    /// URL of this service from the caller's point of view.
    var base: String
    var meetingURL: String?
    /// Participant that represents the page; `nil` without a page.
    var page: UserID?
    var outputs: [Output] = []
    var recorder: Recorder?
    var hls: HLS?
    var size: Size?
    var destination: String?
    /// Whether the room previously had no outputs of its own; afterwards, the configured ones apply again.
    var hidesDefaults = false

    var status = Status.starting
    /// Times in seconds since 1970.
    var createdAt: Double
    var updatedAt: Double
    var startedAt: Double?
    var stoppedAt: Double?
    /// Reason for its end, in 100ms' words.
    var reason: String?
    var failure: Failure?
    /// Whether all of its resources are in the room; false while it is being started.
    var isComplete = false
    /// Whether it holds resources in the room.
    var holdsRoom = true
    var sights = Sights()
    var assets: [HMSAsset] = []
    /// Webhooks that have not been delivered, oldest first.
    var outbox: [HMSNotice] = []

    /// Observations of the room so far.
    struct Sights: Hashable, Codable, Sendable {
        var open = false
        var people = false
        /// Times since which the room has been empty, and the page gone.
        var emptySince: Double?
        var pageGoneSince: Double?
    }

    /// Limits of its duration, in seconds; 0 means none.
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
