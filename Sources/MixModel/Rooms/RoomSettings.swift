import LayoutEngine

/// The settings of a room, requested by an operator or an app server. Everything has a default.
public struct RoomSettings: Hashable, Codable, Sendable {
    /// The host, regardless of events; `nil` means by role, then by order of publishing.
    public var host: UserID?
    /// Name of a layout; `nil` means the configured default.
    public var layout: String?
    /// Destinations of the program; `nil` means the configured default. Empty means none: without recording and HLS the
    /// room then has no task.
    public var outputs: [PushDestination]?
    /// Canvas; `nil` means the configured default.
    public var canvas: RoomCanvas?
    public var policy: RoomPolicy
    /// Composition and encoding of the program; `nil` means that it follows the participants on air and the layout,
    /// encoded as the service chooses.
    @Boxed public var program: ProgramSettings?
    /// Recording of the program; `nil` means none.
    @Boxed public var recording: RecordingSettings?
    /// HLS of the program; `nil` means none.
    @Boxed public var hls: HLSSettings?
    /// Times between which an explicit task is on air; `nil` means at any time. A room's own task has no schedule.
    @Boxed public var schedule: TaskSchedule?
    /// Media in place of the slate; `nil` means none.
    @Boxed public var idle: IdleSettings?
    /// Values of the layout's parameters, by name; `nil` means the layout's defaults. Values for parameters that the
    /// layout does not have are kept for a layout that has them.
    @Boxed public var params: [String: LayoutParameter.Value]?

    public init(
        host: UserID? = nil, layout: String? = nil, outputs: [PushDestination]? = nil, canvas: RoomCanvas? = nil,
        policy: RoomPolicy = RoomPolicy(), program: ProgramSettings? = nil, recording: RecordingSettings? = nil,
        hls: HLSSettings? = nil, schedule: TaskSchedule? = nil, idle: IdleSettings? = nil,
        params: [String: LayoutParameter.Value]? = nil
    ) {
        self.params = params
        self.schedule = schedule
        self.idle = idle
        self.host = host
        self.layout = layout
        self.outputs = outputs
        self.canvas = canvas
        self.policy = policy
        self.program = program
        self.hls = hls
        self.recording = recording
    }
}

/// The policy by which a room's task decides.
public struct RoomPolicy: Hashable, Codable, Sendable {
    public var bypass: Bypass
    public var whenHostLeaves: WhenHostLeaves
    /// Time for which the slate stays on air after the last stream before the task ends. 0…86400 seconds.
    public var maxIdleSeconds: Int
    /// Priority, 0…9. Tasks with a higher priority start first when the machine has capacity again, and are degraded
    /// last when it does not.
    public var priority: Int
    /// Behaviour of an explicit task while it is idle.
    public var whenIdle: WhenIdle
    /// Limits below which a stream is replaced by its backup or its card; `nil` means never.
    @Boxed public var quality: QualityLimits?
    /// Processes that can take over a mix at once when its mixer fails; `nil` means none.
    public var redundancy: MixRedundancy?

    /// The treatment of a single participant on air.
    public enum Bypass: String, Hashable, Codable, Sendable, CaseIterable {
        /// A single participant is copied untouched.
        case auto
        /// A single participant is transcoded too, so that the codec parameters never change.
        case never
    }

    /// The behaviour of the program while the host is away.
    public enum WhenHostLeaves: String, Hashable, Codable, Sendable, CaseIterable {
        /// The next participant in join order becomes host.
        case promote
        /// The slate is on air until the host is back.
        case slate
        /// The task ends.
        case stop
    }

    /// The behaviour of an explicit task after `maxIdleSeconds` with no participant to show.
    public enum WhenIdle: String, Hashable, Codable, Sendable, CaseIterable {
        /// The relay ends and is started again with the next stream.
        case wait
        /// The task ends permanently, even if no participant ever came.
        case finish
        /// The task ends permanently when the room is closed, or after `maxIdleSeconds` with an empty room. Before it
        /// is on air for the first time it waits for `longestWait`.
        case finishWithRoom
    }

    /// Time that a task waits before it is first on air, in seconds. See `WhenIdle.finishWithRoom`.
    public static let longestWait = 86_400
    public static let defaultMaxIdleSeconds = 120
    public static let defaultPriority = 5

    public init(
        bypass: Bypass = .auto, whenHostLeaves: WhenHostLeaves = .promote,
        maxIdleSeconds: Int = RoomPolicy.defaultMaxIdleSeconds, priority: Int = RoomPolicy.defaultPriority,
        whenIdle: WhenIdle = .wait, quality: QualityLimits? = nil, redundancy: MixRedundancy? = nil
    ) {
        self.quality = quality
        self.redundancy = redundancy
        self.bypass = bypass
        self.whenHostLeaves = whenHostLeaves
        self.maxIdleSeconds = maxIdleSeconds
        self.priority = priority
        self.whenIdle = whenIdle
    }

    /// Creates a policy from a stored document. Settings missing from documents of earlier releases get their defaults.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            bypass: try container.decode(Bypass.self, forKey: .bypass),
            whenHostLeaves: try container.decode(WhenHostLeaves.self, forKey: .whenHostLeaves),
            maxIdleSeconds: try container.decode(Int.self, forKey: .maxIdleSeconds),
            priority: try container.decodeIfPresent(Int.self, forKey: .priority) ?? Self.defaultPriority,
            whenIdle: try container.decodeIfPresent(WhenIdle.self, forKey: .whenIdle) ?? .wait,
            quality: try container.decodeIfPresent(QualityLimits.self, forKey: .quality),
            redundancy: try container.decodeIfPresent(MixRedundancy.self, forKey: .redundancy))
    }
}
