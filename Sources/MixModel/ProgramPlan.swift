import LayoutEngine

/// What a relay shall put on air: the whole of it, never a difference, so that applying it twice is harmless.
public struct ProgramPlan: Hashable, Codable, Sendable {
    /// Grows with each plan of a task; a relay ignores one that is not newer than what it has.
    public var revision: Int
    public var task: TaskID
    public var room: RoomID
    /// Every stream to pull, on air or about to be.
    public var sources: [PlannedSource]
    public var mode: Mode
    /// What a mixer draws: while `mode` is `.mix`, and whenever a mixer has to bridge to a bypass. Empty = slate.
    public var scene: Scene
    public var outputs: [PlannedOutput]
    /// Where sources may be pulled from and outputs may push to; `nil` in plans of versions that did not know it: anywhere.
    public var sourceReach: Reach?
    public var outputReach: Reach?
    /// When the event that caused this plan was received, in nanoseconds of CLOCK_MONOTONIC: switches are timed from it.
    public var causedAt: Int64
    /// The event in words, for the timeline: `stream.published bob/camera`.
    public var cause: String
    /// For the timeline: every cause that is in this plan.
    public var causes: [CauseID]?
    /// How the mix is made cheaper while the machine carries too much; `nil` = it is whole.
    public var degradation: Degradation?
    /// The tracks that the program has; `nil` = both.
    public var tracks: SourceSelection.Tracks?
    public var encoding: EncodingSettings?
    public var sei: SEISettings?
    /// Offered as HLS; `nil` = not.
    public var hls: PlannedHLS?
    /// What is made of the program on disk; `nil` = nothing.
    public var recordings: [PlannedRecording]?
    /// True when the program is one stream whatever happens: no mixer has to be ready for company.
    public var isOfOne: Bool?

    /// What the program shall be made of.
    public enum Mode: Hashable, Codable, Sendable {
        /// MixMode 0: one source's packets, untouched.
        case bypass(SourceID)
        /// MixMode 1. `host` is the source whose frame grid and audio configuration the mix follows.
        case mix(host: SourceID)
        /// Nobody is on air.
        case slate
    }

    public init(
        revision: Int, task: TaskID, room: RoomID, sources: [PlannedSource], mode: Mode, scene: Scene,
        outputs: [PlannedOutput], sourceReach: Reach? = nil, outputReach: Reach? = nil, causedAt: Int64, cause: String,
        causes: [CauseID]? = nil, degradation: Degradation? = nil, tracks: SourceSelection.Tracks? = nil,
        encoding: EncodingSettings? = nil, sei: SEISettings? = nil, recordings: [PlannedRecording]? = nil,
        hls: PlannedHLS? = nil, isOfOne: Bool? = nil
    ) {
        self.revision = revision
        self.task = task
        self.room = room
        self.sources = sources
        self.mode = mode
        self.scene = scene
        self.outputs = outputs
        self.sourceReach = sourceReach
        self.outputReach = outputReach
        self.causedAt = causedAt
        self.cause = cause
        self.causes = causes
        self.degradation = degradation
        self.tracks = tracks
        self.encoding = encoding
        self.sei = sei
        self.hls = hls
        self.recordings = recordings
        self.isOfOne = isOfOne
    }
}

/// One stream to pull.
public struct PlannedSource: Hashable, Codable, Sendable {
    public var id: SourceID
    /// Where to pull it. May hold a secret: never logged.
    public var url: String
    /// False while muted: its sound is left out of a mix.
    public var audio: Bool
    /// False while the camera is off.
    public var video: Bool
    /// What of it is taken, the rest counts as not being there; `nil` = all.
    public var tracks: SourceSelection.Tracks?

    public init(
        id: SourceID, url: String, audio: Bool = true, video: Bool = true, tracks: SourceSelection.Tracks? = nil
    ) {
        self.id = id
        self.url = url
        self.audio = audio
        self.video = video
        self.tracks = tracks
    }
}

/// One destination of a program.
public struct PlannedOutput: Hashable, Codable, Sendable {
    public var id: OutputID
    /// Where to push it. May hold a stream key: never logged.
    public var url: String
    /// How long it is tried again after a failure; `nil` = for ever.
    public var retry: OutputRetry?

    public init(id: OutputID, url: String, retry: OutputRetry? = nil) {
        self.id = id
        self.url = url
        self.retry = retry
    }
}

/// What viewers get right now.
public enum OnAir: String, Hashable, Codable, Sendable {
    case bypass, mix, slate
}

extension ProgramPlan {
    /// For timelines and logs; holds no URL.
    public var summary: String {
        let people = sources.count
        let pictures = tracks == .audio ? "sound alone" : "\(scene.panes.count) panes"
        return switch mode {
        case .bypass(let source): "plan \(revision): bypass \(source)"
        case .mix(let host): "plan \(revision): mix of \(people), host \(host), \(pictures)\(rate)"
        case .slate: "plan \(revision): slate\(rate)"
        }
    }

    private var rate: String {
        guard let degradation else { return "" }
        return ", each \(degradation.frameDivisor) frames one is made (level \(degradation.level))"
    }
}
