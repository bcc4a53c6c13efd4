import LayoutEngine

/// From the orchestrator to a relay: one JSON object a line on the relay's unix socket.
public enum RelayCommand: Hashable, Codable, Sendable {
    /// First line of a control connection. A relay of another version answers `.refused`.
    case hello(version: Int)
    case apply(ProgramPlan)
    /// Ends the program: outputs are flushed and closed, then the relay exits.
    case drain
    /// First and only line of a viewer's connection: the relay answers with raw FLV bytes (header, metadata,
    /// sequence headers, then from the last keyframe) until the program ends.
    case viewFLV
    /// Tries a destination at once that waits for its next attempt, or was given up.
    case retryOutput(OutputID)

    public static let version = 1
}

/// From a relay to the orchestrator: one JSON object a line.
public enum RelayReport: Hashable, Codable, Sendable {
    /// Answer to `.hello`; also sent after every change and at least once a second.
    case status(RelayStatus)
    /// A splice that has just happened.
    case switched(SwitchRecord)
    /// Something an operator should read; `code` is stable, `message` names the thing and the cure.
    case note(code: String, message: String)
    case refused(reason: String)
}

/// A relay's actual state.
public struct RelayStatus: Hashable, Codable, Sendable {
    public var task: TaskID
    public var processID: Int32
    /// Of the plan last applied; 0 = none yet.
    public var revision: Int
    /// `nil` until the first frame.
    public var onAir: OnAir?
    /// The source on air in bypass.
    public var bypassSource: SourceID?
    /// Of the picture on air, with its panes; `nil` in bypass. On its way it is left out where it is the plan's:
    /// `completed` puts it back.
    public var scene: Scene?
    public var sources: [SourceStatus]
    public var outputs: [OutputStatus]
    /// Program time in ns.
    public var programTime: MediaTime
    /// Why nothing can be mixed although it is wanted; `nil` while all is well.
    public var mixerError: String?
    /// `nil` from relays of an earlier release.
    public var load: RelayLoad?
    /// `nil` where none is planned.
    public var hls: HLSStatus?
    /// `nil` where nothing is recorded.
    public var recordings: [RecordingStatus]?

    public init(
        task: TaskID, processID: Int32, revision: Int, onAir: OnAir?, bypassSource: SourceID?, scene: Scene?,
        sources: [SourceStatus], outputs: [OutputStatus], programTime: MediaTime, mixerError: String? = nil,
        load: RelayLoad? = nil, recordings: [RecordingStatus]? = nil, hls: HLSStatus? = nil
    ) {
        self.task = task
        self.processID = processID
        self.revision = revision
        self.onAir = onAir
        self.bypassSource = bypassSource
        self.scene = scene
        self.sources = sources
        self.outputs = outputs
        self.programTime = programTime
        self.mixerError = mixerError
        self.load = load
        self.hls = hls
        self.recordings = recordings
    }
}

extension RelayStatus {
    /// With the scene that goes without saying.
    ///
    /// - Parameters:
    ///   - plan: In force for the task; the relay may still be at an earlier one.
    ///   - last: What the same relay told before, completed.
    public func completed(by plan: ProgramPlan?, after last: RelayStatus?) -> RelayStatus {
        guard scene == nil, onAir == .mix || onAir == .slate else { return self }
        var status = self
        status.scene = plan?.revision == revision ? plan?.scene : last?.scene
        return status
    }
}

/// How a relay gets on with one source.
public struct SourceStatus: Hashable, Codable, Sendable {
    public enum State: String, Hashable, Codable, Sendable {
        /// No packet yet.
        case connecting
        case live
        /// Was live; silent for longer than the stall limit.
        case stalled
        /// The connection ended or was refused; tried again with back-off.
        case recovering
        /// Will not work as it is (codec not supported …).
        case failed
    }
    public var id: SourceID
    public var state: State
    /// Why it does not work, in words for operators; redacted.
    public var error: String?
    /// Nothing has come of it for longer than a start takes, or nothing that can be shown: its place in the picture is
    /// better given to others. `nil` = false.
    public var isAbsent: Bool?
    /// Of its pictures; `nil` until it is known.
    public var pictureSize: LayoutParticipant.Size?
    /// Of its pictures, a second; `nil` until it is known.
    public var frameRate: Double?

    public init(
        id: SourceID, state: State, error: String? = nil, isAbsent: Bool? = nil,
        pictureSize: LayoutParticipant.Size? = nil, frameRate: Double? = nil
    ) {
        self.id = id
        self.state = state
        self.error = error
        self.isAbsent = isAbsent
        self.pictureSize = pictureSize
        self.frameRate = frameRate
    }
}

/// One splice as the relay performed it.
public struct SwitchRecord: Hashable, Codable, Sendable {
    /// Program time of the first video frame after the splice.
    public var at: MediaTime
    public var from: OnAir?
    public var to: OnAir
    public var source: SourceID?
    public var cause: String
    /// `ProgramPlan.causes`.
    public var causes: [CauseID]?
    /// From the event (`ProgramPlan.causedAt`) to the first frame of the new kind on air, in milliseconds.
    public var latencyMs: Double
    /// The same from the moment when the first keyframe of everybody in the plan was there, if that was later.
    public var afterKeyframeMs: Double?
    /// Between the last video frame before and the first after the splice, in milliseconds.
    public var videoGapMs: Double
    /// Between the last audio frame before and the first after the splice, in milliseconds.
    public var audioGapMs: Double?
    /// Seconds since 1970, for people.
    public var wallClock: Double

    public init(
        at: MediaTime, from: OnAir?, to: OnAir, source: SourceID?, cause: String, causes: [CauseID]? = nil,
        latencyMs: Double, afterKeyframeMs: Double? = nil, videoGapMs: Double, audioGapMs: Double?, wallClock: Double
    ) {
        self.at = at
        self.from = from
        self.to = to
        self.source = source
        self.cause = cause
        self.causes = causes
        self.latencyMs = latencyMs
        self.afterKeyframeMs = afterKeyframeMs
        self.videoGapMs = videoGapMs
        self.audioGapMs = audioGapMs
        self.wallClock = wallClock
    }
}
