import LayoutEngine
import TextFormats

/// The complete description of the program that a relay puts on air.
///
/// A plan is never a difference, so applying it twice is harmless.
public struct ProgramPlan: Hashable, Sendable {
    /// Revision, which grows with each plan of a task. A relay ignores a plan that is not newer than its own.
    public var revision: Int
    public var task: TaskID
    public var room: RoomID
    /// Streams to pull, on air or about to be.
    public var sources: [PlannedSource]
    public var mode: Mode
    /// Scene that a mixer draws while `mode` is `.mix`, and whenever it has to bridge to a bypass. Empty means the
    /// slate.
    public var scene: Scene
    public var outputs: [PlannedOutput]
    /// Addresses that sources may be pulled from and outputs pushed to; `nil`, as in plans of earlier versions, means
    /// anywhere.
    public var sourceReach: Reach?
    public var outputReach: Reach?
    /// Time at which the event that caused this plan was received, in nanoseconds of CLOCK_MONOTONIC. The latency of
    /// switches is measured from it.
    public var causedAt: Int64
    /// The event in words for the timeline, such as `stream.published bob/camera`.
    public var cause: String
    /// All causes that led to this plan, for the timeline.
    public var causes: [CauseID]?
    /// Reduction of the mix while the machine is overloaded; `nil` means none.
    public var degradation: Degradation?
    /// Tracks of the program; `nil` means both.
    public var tracks: SourceSelection.Tracks?
    public var encoding: EncodingSettings?
    public var sei: SEISettings?
    /// Whether the program always consists of one stream, so that no mixer has to be kept ready. `nil` means false.
    public var isOfOne: Bool?
    /// Media that a mixer plays into the scene, as the source `SourceID.idle`; `nil` means none.
    public var idle: IdlePlan?
    /// Limits below which a source counts as poor; `nil` means that no source does.
    public var quality: QualityLimits?
    /// The processes that run beside a mix so that it survives its mixer; `nil` means none.
    public var redundancy: MixRedundancy?

    /// The composition of a program.
    public enum Mode: Hashable, Codable, Sendable {
        /// MixMode 0: the packets of one source, untouched.
        case bypass(SourceID)
        /// MixMode 1. `host` is the source whose frame grid and audio configuration the mix follows.
        case mix(host: SourceID)
        /// The placeholder while no participant is on air.
        case slate

        /// The composition that viewers receive when the plan is on air.
        public var onAir: OnAir {
            switch self {
            case .bypass: .bypass
            case .mix: .mix
            case .slate: .slate
            }
        }
    }

    public init(
        revision: Int, task: TaskID, room: RoomID, sources: [PlannedSource], mode: Mode, scene: Scene,
        outputs: [PlannedOutput], sourceReach: Reach? = nil, outputReach: Reach? = nil, causedAt: Int64, cause: String,
        causes: [CauseID]? = nil, degradation: Degradation? = nil, tracks: SourceSelection.Tracks? = nil,
        encoding: EncodingSettings? = nil, sei: SEISettings? = nil, isOfOne: Bool? = nil,
        idle: IdlePlan? = nil, quality: QualityLimits? = nil, redundancy: MixRedundancy? = nil
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
        self.isOfOne = isOfOne
        self.idle = idle
        self.quality = quality
        self.redundancy = redundancy
    }
}

/// A stream to pull.
public struct PlannedSource: Hashable, Codable, Sendable {
    public var id: SourceID
    /// Pull URL. May contain a secret; never logged.
    public var url: String
    /// Whether audio is on; false while muted, when a mix leaves it out.
    public var audio: Bool
    /// Whether video is on; false while the camera is off.
    public var video: Bool
    /// Tracks to use; the others count as missing. `nil` means all.
    public var tracks: SourceSelection.Tracks?
    /// Pull URL of the same stream elsewhere, for when the first one fails or is poor; `nil` means none.
    public var backup: String?
    /// Whether viewers get silence in place of the source's audio, even in a bypass. `nil` means false.
    public var muted: Bool?
    /// Display name of the participant, for players; `nil` if there is none.
    public var name: String?

    public init(
        id: SourceID, url: String, audio: Bool = true, video: Bool = true, tracks: SourceSelection.Tracks? = nil,
        backup: String? = nil, muted: Bool? = nil, name: String? = nil
    ) {
        self.backup = backup
        self.muted = muted
        self.name = name
        self.id = id
        self.url = url
        self.audio = audio
        self.video = video
        self.tracks = tracks
    }
}

/// The composition that viewers receive right now.
public enum OnAir: String, Hashable, Codable, Sendable {
    case bypass, mix, slate
}

extension ProgramPlan {
    /// Returns whether the plan differs from the other one only in its overlays, and has no cause of its own.
    public func onlyChangesOverlays(of other: ProgramPlan) -> Bool {
        var copy = self
        (copy.revision, copy.scene.overlays) = (other.revision, other.scene.overlays)
        return copy == other
    }

    /// Summary for timelines and logs. Contains no URL.
    public var summary: String {
        let people = sources.count
        let pictures = tracks == .audio ? "audio only" : "\(scene.panes.count) panes"
        return switch mode {
        case .bypass(let source): "plan \(revision): bypass \(source)"
        case .mix(let host): "plan \(revision): mix of \(people), host \(host), \(pictures)\(rate)"
        case .slate where idle != nil: "plan \(revision): idle media\(rate)"
        case .slate: "plan \(revision): slate\(rate)"
        }
    }

    private var rate: String {
        guard let degradation else { return "" }
        let divisor = degradation.frameDivisor
        let suffix = divisor == 2 ? "nd" : divisor == 3 ? "rd" : "th"
        return ", every \(divisor)\(suffix) frame is rendered (load level \(degradation.level))"
    }
}
