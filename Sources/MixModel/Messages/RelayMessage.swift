import EncodedMedia
import LayoutEngine

/// A message from the orchestrator to a relay: one JSON object per line on the relay's Unix socket.
public enum RelayCommand: Hashable, Codable, Sendable {
    /// The first line of a control connection. A relay of another version answers `.refused`.
    case hello(version: Int)
    case apply(ProgramPlan)
    /// Ends the program: outputs are flushed and closed, then the relay exits.
    case drain
    /// The first line of a viewer's connection. The relay answers with raw FLV bytes (header, metadata, sequence headers,
    /// then from the last keyframe) until the program ends.
    ///
    /// - Parameters:
    ///   - keyframeRequests: Whether the relay announces, with a tag before all others, that it accepts
    ///     `requestKeyframe` on this connection. A relay of an earlier release does not, and would answer a second line
    ///     among the FLV bytes. `nil` means false.
    ///   - layouts: Whether the relay sends script tags with the layout: the current one after the headers, and a new
    ///     one before the picture with which it is on air. `nil` means false.
    case viewFLV(keyframeRequests: Bool? = nil, layouts: Bool? = nil)
    /// A viewer needs a keyframe. The relay passes the request on to the source on air, at most every 350 ms for all
    /// viewers together.
    case requestKeyframe
    /// Requests the media for an operator's preview: the latest keyframe of a source, or its latest audio if `picture`
    /// is false; those of the program if `of` is `nil`. The relay answers with an FLV stream, preceded by its length in
    /// four bytes, big-endian. The connection must not be used for anything else.
    case preview(of: SourceID?, picture: Bool)
    /// Immediately retries an output that is waiting for its next attempt or was given up.
    case retryOutput(OutputID)
    /// Allows the relay to send until this time, in ns of CLOCK_BOOTTIME. From then on it sends nothing and its process
    /// ends, because another machine may run the program. Without this command there is no limit.
    case hold(until: Int64)
    /// Continues the timestamps of a relay on another machine, and ends `standBy`. The timestamps are ignored once
    /// anything was on air.
    case resume(ProgramPlace)
    /// Sends nothing until `resume`, or until another connection applies a plan. A program on air first continues to
    /// its next keyframe; then its outputs are closed. Sources continue to be pulled and mixed.
    case standBy

    public static let version = 1
}

/// A message from a relay to the orchestrator: one JSON object per line.
public enum RelayReport: Hashable, Codable, Sendable {
    /// The answer to `.hello`; also sent after every change and at least once a second.
    case status(RelayStatus)
    /// A splice that has just happened.
    case switched(SwitchRecord)
    /// A message for operators. `code` is stable; `message` names the subject and the remedy.
    case note(code: String, message: String)
    case refused(reason: String)
}

/// The actual state of a relay.
public struct RelayStatus: Hashable, Sendable {
    public var task: TaskID
    public var processID: Int32
    /// Revision of the plan applied last; 0 if there is none yet.
    public var revision: Int
    /// Composition on air; `nil` until the first frame.
    public var onAir: OnAir?
    /// The source on air in bypass.
    public var bypassSource: SourceID?
    /// Scene on air, with its panes; `nil` in bypass. The wire format leaves it out if it is the plan's; `completed`
    /// restores it.
    public var scene: Scene?
    public var sources: [SourceStatus]
    /// States of the outputs, kind by kind.
    public var outputs: [OutputStatus]
    /// Program time, in nanoseconds.
    public var programTime: MediaTime
    /// Reason why a requested mix is not possible; `nil` if there is no problem.
    public var mixerError: String?
    /// CPU use and pace; `nil` from relays of an earlier release.
    public var load: RelayLoad?
    /// Whether the process also runs relays of other tasks.
    public var sharesProcess: Bool
    /// Media played while no participant can be shown; `nil` if there are none.
    public var idle: IdleStatus?
    /// The position of the stream on the clock; `nil` before anything was on air.
    public var place: ProgramPlace?
    /// Whether the relay stands by: it sends nothing, and no destination is connected any more.
    public var isSilent: Bool

    public init(
        task: TaskID, processID: Int32, revision: Int, onAir: OnAir?, bypassSource: SourceID?, scene: Scene?,
        sources: [SourceStatus], outputs: [OutputStatus], programTime: MediaTime, mixerError: String? = nil,
        load: RelayLoad? = nil, sharesProcess: Bool = false, idle: IdleStatus? = nil, place: ProgramPlace? = nil,
        isSilent: Bool = false
    ) {
        self.task = task
        self.isSilent = isSilent
        self.processID = processID
        self.sharesProcess = sharesProcess
        self.idle = idle
        self.place = place
        self.revision = revision
        self.onAir = onAir
        self.bypassSource = bypassSource
        self.scene = scene
        self.sources = sources
        self.outputs = outputs
        self.programTime = programTime
        self.mixerError = mixerError
        self.load = load
    }
}

extension RelayStatus {
    /// Returns the status with its omitted scene restored.
    ///
    /// - Parameters:
    ///   - plan: Plan in force for the task. The relay may still run an earlier one.
    ///   - last: Previous status of the same relay, completed.
    public func completed(by plan: ProgramPlan?, after last: RelayStatus?) -> RelayStatus {
        guard scene == nil, onAir == .mix || onAir == .slate else { return self }
        var status = self
        status.scene = plan?.revision == revision ? plan?.scene : last?.scene
        return status
    }
}

/// The state of one source of a relay.
public struct SourceStatus: Hashable, Codable, Sendable {
    public enum State: String, Hashable, Codable, Sendable {
        /// No packet has arrived yet.
        case connecting
        case live
        /// The source was live and has been silent for longer than the stall limit.
        case stalled
        /// The connection ended or was refused; the relay retries with back-off.
        case recovering
        /// The source cannot work in its current form, for example because its codec is not supported.
        case failed
    }
    public var id: SourceID
    public var state: State
    /// Last failure, in words for operators; redacted.
    public var error: String?
    /// Whether the source has delivered nothing, or nothing that can be shown, for longer than a start takes, so that
    /// its place in the picture should go to other sources. `nil` means false.
    public var isAbsent: Bool?
    /// Size of the source's pictures; `nil` until known.
    public var pictureSize: LayoutParticipant.Size?
    /// Pictures per second; `nil` until known.
    public var frameRate: Double?
    /// Time since the source's last keyframe in seconds, if that is longer than any GOP should be; otherwise `nil`.
    public var secondsWithoutKeyframe: Double?
    /// Whether the source has recovery points in place of keyframes, so that a mix cannot return to its bypass. `nil`
    /// means false.
    public var refreshesGradually: Bool?
    /// Description of the stream's defect, as defined by `ProgramPlan.quality`; `nil` means none.
    public var poor: String?
    /// Whether the backup is pulled. `nil` means false.
    public var usesBackup: Bool?
    /// Tracks that are transcoded when the source is pulled, because they are not H.264 or AAC; `nil` means none.
    public var transcoded: TrackSelection?

    public init(
        id: SourceID, state: State, error: String? = nil, isAbsent: Bool? = nil,
        pictureSize: LayoutParticipant.Size? = nil, frameRate: Double? = nil,
        secondsWithoutKeyframe: Double? = nil, refreshesGradually: Bool? = nil, poor: String? = nil,
        usesBackup: Bool? = nil, transcoded: TrackSelection? = nil
    ) {
        self.transcoded = transcoded
        self.poor = poor
        self.usesBackup = usesBackup
        self.id = id
        self.state = state
        self.error = error
        self.isAbsent = isAbsent
        self.pictureSize = pictureSize
        self.frameRate = frameRate
        self.secondsWithoutKeyframe = secondsWithoutKeyframe
        self.refreshesGradually = refreshesGradually
    }
}

/// A splice as the relay performed it.
public struct SwitchRecord: Hashable, Codable, Sendable {
    /// Program time of the first video frame after the splice.
    public var at: MediaTime
    public var from: OnAir?
    public var to: OnAir
    public var source: SourceID?
    public var cause: String
    /// Causes of the plan (`ProgramPlan.causes`).
    public var causes: [CauseID]?
    /// Time from the event (`ProgramPlan.causedAt`) to the first frame of the new kind on air, in milliseconds.
    public var latencyMs: Double
    /// Time to the same frame from the moment at which every source in the plan had delivered its first keyframe, if
    /// that was after the event. In milliseconds.
    public var afterKeyframeMs: Double?
    /// Division of `latencyMs`; `nil` from relays of an earlier release.
    public var stages: SwitchStages?
    /// Time between the last video frame before and the first after the splice, in milliseconds.
    public var videoGapMs: Double
    /// Time between the last audio frame before and the first after the splice, in milliseconds.
    public var audioGapMs: Double?
    /// Wall-clock time for display, in seconds since 1970.
    public var wallClock: Double

    public init(
        at: MediaTime, from: OnAir?, to: OnAir, source: SourceID?, cause: String, causes: [CauseID]? = nil,
        latencyMs: Double, afterKeyframeMs: Double? = nil, stages: SwitchStages? = nil, videoGapMs: Double,
        audioGapMs: Double?, wallClock: Double
    ) {
        self.at = at
        self.from = from
        self.to = to
        self.source = source
        self.cause = cause
        self.causes = causes
        self.latencyMs = latencyMs
        self.afterKeyframeMs = afterKeyframeMs
        self.stages = stages
        self.videoGapMs = videoGapMs
        self.audioGapMs = audioGapMs
        self.wallClock = wallClock
    }
}
