/// What a program carries for players inside its picture: SEI messages (ITU-T H.264 §7.3.2.3, annex D), in a mix as in a
/// bypass.
public struct SEISettings: Hashable, Codable, Sendable {
    /// 5 (user data, after a UUID) or one of `payloadTypes`.
    public var payloadType: Int
    /// Who is where in the picture and how loud, as JSON.
    public var layoutVolume: Timing?
    /// The time of day at which the frame was shown to the program, as JSON `{"ts": ms since 1970}`.
    public var wallClock: Timing?
    /// A text of the app server's, as JSON `{key: content}`.
    public var passThrough: PassThrough?
    /// A text of the app server's, sent as it is, from now on with each IDR frame and each second; at most `longestText`
    /// characters (Unicode scalars).
    public var custom: String?

    /// When a message is sent.
    public struct Timing: Hashable, Codable, Sendable {
        /// In ms, within `SEISettings.intervals`; `nil` = with IDR frames alone.
        public var intervalMs: Int?
        /// With each IDR frame, too.
        public var followsIDR: Bool

        public init(intervalMs: Int? = SEISettings.defaultInterval, followsIDR: Bool = false) {
            self.intervalMs = intervalMs
            self.followsIDR = followsIDR
        }
    }

    public struct PassThrough: Hashable, Codable, Sendable {
        public var key: String
        /// At most `longestText` characters.
        public var content: String
        public var timing: Timing

        public static let defaultKey = "udd"

        public init(key: String = PassThrough.defaultKey, content: String, timing: Timing = Timing()) {
            self.key = key
            self.content = content
            self.timing = timing
        }
    }

    public static let userDataUnregistered = 5
    /// Those that the standard leaves reserved.
    public static let payloadTypes = 100...254
    /// In ms.
    public static let intervals = 1000...5000
    public static let defaultInterval = 1000
    public static let longestText = 4096
    public static let longestKey = 64

    public init(
        payloadType: Int = SEISettings.userDataUnregistered, layoutVolume: Timing? = nil,
        passThrough: PassThrough? = nil, custom: String? = nil, wallClock: Timing? = nil
    ) {
        self.payloadType = payloadType
        self.layoutVolume = layoutVolume
        self.passThrough = passThrough
        self.custom = custom
        self.wallClock = wallClock
    }
}
