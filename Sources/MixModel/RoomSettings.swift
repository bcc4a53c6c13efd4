import LayoutEngine

/// What an operator or an app server asked for a room. Everything has a default.
public struct RoomSettings: Hashable, Codable, Sendable {
    /// Who is the host, whatever events say; `nil` = by role, then by who published first.
    public var host: UserID?
    /// Name of a layout; `nil` = the configured default.
    public var layout: String?
    /// Where the program goes; `nil` = the configured default, empty = nowhere (no task).
    public var outputs: [PlannedOutput]?
    /// `nil` = the configured default.
    public var canvas: Canvas?
    public var policy: RoomPolicy
    /// `nil` = by the people on air and the layout, encoded as the service does.
    @Boxed public var program: ProgramSettings?
    /// `nil` = nothing is recorded.
    @Boxed public var recording: RecordingSettings?
    /// `nil` = no HLS.
    @Boxed public var hls: HLSSettings?

    public init(
        host: UserID? = nil, layout: String? = nil, outputs: [PlannedOutput]? = nil, canvas: Canvas? = nil,
        policy: RoomPolicy = RoomPolicy(), program: ProgramSettings? = nil, recording: RecordingSettings? = nil,
        hls: HLSSettings? = nil
    ) {
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

/// How a room's task decides.
public struct RoomPolicy: Hashable, Codable, Sendable {
    public var bypass: Bypass
    public var whenHostLeaves: WhenHostLeaves
    /// How long the slate stays on air after the last stream before the task ends, in seconds, 0…86400.
    public var maxIdleSeconds: Int
    /// 0…9. Higher ones are taken on first when a machine has room again, and made cheaper last when it has not.
    public var priority: Int
    /// What becomes of an explicit task while it is idle.
    public var whenIdle: WhenIdle

    /// Whether one person on air is copied.
    public enum Bypass: String, Hashable, Codable, Sendable, CaseIterable {
        /// One person on air is copied untouched.
        case auto
        /// One person on air is transcoded too: the codec parameters never change.
        case never
    }

    /// What becomes of the program while the host is away.
    public enum WhenHostLeaves: String, Hashable, Codable, Sendable, CaseIterable {
        /// The next in join order becomes host.
        case promote
        /// The slate is on air until the host is back.
        case slate
        /// The task ends.
        case stop
    }

    /// What an explicit task does after `maxIdleSeconds` without anybody to show.
    public enum WhenIdle: String, Hashable, Codable, Sendable, CaseIterable {
        /// Its relay ends; it comes back with the next stream.
        case wait
        /// It ends for good, also when nobody ever came.
        case finish
        /// It ends for good when the room is closed, or after `maxIdleSeconds` in which nobody was in the room. Before it
        /// was on air for the first time it waits for `longestWait`.
        case finishWithRoom
    }

    /// In seconds.
    public static let longestWait = 86_400
    public static let defaultMaxIdleSeconds = 120
    public static let defaultPriority = 5

    public init(
        bypass: Bypass = .auto, whenHostLeaves: WhenHostLeaves = .promote,
        maxIdleSeconds: Int = RoomPolicy.defaultMaxIdleSeconds, priority: Int = RoomPolicy.defaultPriority,
        whenIdle: WhenIdle = .wait
    ) {
        self.bypass = bypass
        self.whenHostLeaves = whenHostLeaves
        self.maxIdleSeconds = maxIdleSeconds
        self.priority = priority
        self.whenIdle = whenIdle
    }

    /// What was stored by a release without one of these has the default.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            bypass: try container.decode(Bypass.self, forKey: .bypass),
            whenHostLeaves: try container.decode(WhenHostLeaves.self, forKey: .whenHostLeaves),
            maxIdleSeconds: try container.decode(Int.self, forKey: .maxIdleSeconds),
            priority: try container.decodeIfPresent(Int.self, forKey: .priority) ?? Self.defaultPriority,
            whenIdle: try container.decodeIfPresent(WhenIdle.self, forKey: .whenIdle) ?? .wait)
    }
}
