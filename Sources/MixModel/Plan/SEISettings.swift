/// The settings of the SEI messages that a program carries inside its picture for players (ITU-T H.264 §7.3.2.3, annex
/// D), in a mix as in a bypass.
public struct SEISettings: Hashable, Codable, Sendable {
    /// SEI payload type: 5 (user data, after a UUID) or one of `payloadTypes`.
    public var payloadType: Int
    /// Timing of the JSON message with the positions of participants in the picture and their loudness; `nil` means
    /// none.
    public var layoutVolume: Timing?
    /// Timing of the JSON message with the time of day at which the program received the frame,
    /// `{"ts": ms since 1970}`; `nil` means none.
    public var wallClock: Timing?
    /// Text from the app server, sent as JSON `{key: content}`; `nil` means none.
    public var passThrough: PassThrough?
    /// Text from the app server, sent unchanged from now on, with each IDR frame and each second; `nil` means none. At
    /// most `longestText` characters (Unicode scalars).
    public var custom: String?

    /// The timing of a message.
    public struct Timing: Hashable, Codable, Sendable {
        /// Interval in milliseconds, within `SEISettings.intervals`; `nil` means with IDR frames only.
        public var intervalMs: Int?
        /// Whether the message is also sent with each IDR frame.
        public var followsIDR: Bool

        public init(intervalMs: Int? = SEISettings.defaultInterval, followsIDR: Bool = false) {
            self.intervalMs = intervalMs
            self.followsIDR = followsIDR
        }
    }

    public struct PassThrough: Hashable, Codable, Sendable {
        public var key: String
        /// Text of at most `longestText` characters.
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
    /// Payload types that the standard leaves reserved.
    public static let payloadTypes = 100...254
    /// Allowed intervals, in milliseconds.
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
