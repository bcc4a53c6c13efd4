import LayoutEngine

/// The content of the JSON file beside each file of a recording.
public struct RecordingManifest: Hashable, Codable, Sendable {
    public enum State: String, Hashable, Codable, Sendable {
        /// The file is being written, or was left by a lost recorder: a fragmented file that plays up to its last
        /// second.
        case recording
        /// The file is closed and indexed.
        case complete
        /// The file was closed without an index: it plays, but seeking in it may be slow.
        case unindexed
    }

    /// A participant's place in the picture, in pixels.
    public struct Pane: Hashable, Codable, Sendable {
        public var user: String
        public var source: String
        public var x, y, width, height: Int
    }

    /// A change between bypass, mix and slate.
    public struct Switch: Hashable, Codable, Sendable {
        /// Position in the file, in seconds.
        public var at: Double
        public var wallClock: Double
        public var from: OnAir?
        public var to: OnAir
        /// Source on air in a bypass.
        public var source: SourceID?
        public var cause: String
        /// Panes of a mix.
        public var panes: [Pane]

        public init(
            at: Double, wallClock: Double, from: OnAir?, to: OnAir, source: SourceID?, cause: String, panes: [Pane]
        ) {
            self.at = at
            self.wallClock = wallClock
            self.from = from
            self.to = to
            self.source = source
            self.cause = cause
            self.panes = panes
        }
    }

    public var version = 1
    public var room: String
    public var task: String
    public var recording: String
    /// Source that is recorded; `nil` means the program.
    public var source: SourceID?
    public var file: String
    /// Number of the part, 1 or more.
    public var part: Int
    public var state: State
    /// Time of the first frame, in seconds since 1970.
    public var startedAt: Double
    /// Time of the end, in seconds since 1970; `nil` while the file is being written.
    public var endedAt: Double?
    /// Duration, in seconds.
    public var duration: Double
    public var bytes: Int64
    public var hasVideo: Bool
    public var hasAudio: Bool
    /// The reason for the end: `stopped`, `partSeconds`, `tracksChanged`, `maxSeconds`, `maxBytes` or the code of
    /// `error`; `nil` while the file is being written.
    public var endReason: String?
    public var error: ServiceState.Failure?
    public var switches: [Switch] = []

    public init(
        room: String, task: String, recording: String, source: SourceID?, file: String, part: Int, startedAt: Double,
        hasVideo: Bool, hasAudio: Bool
    ) {
        self.room = room
        self.task = task
        self.recording = recording
        self.source = source
        self.file = file
        self.part = part
        state = .recording
        self.startedAt = startedAt
        duration = 0
        bytes = 0
        self.hasVideo = hasVideo
        self.hasAudio = hasAudio
    }
}

extension RecordingManifest {
    public static func panes(of scene: Scene?) -> [Pane] {
        (scene?.panes ?? []).map {
            Pane(user: $0.user, source: $0.source, x: $0.x, y: $0.y, width: $0.width, height: $0.height)
        }
    }
}
