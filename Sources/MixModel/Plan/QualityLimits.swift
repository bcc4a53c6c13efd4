/// Limits below which a stream counts as poor, so that its backup or its card is shown. All are optional.
///
/// Relays judge encoded packets. For frozen and black pictures, a process decodes keyframes.
public struct QualityLimits: Hashable, Codable, Sendable {
    /// Minimum bit rate of the pictures, in bit/s.
    public var minBitrate: Int?
    /// Minimum number of pictures per second.
    public var minFrameRate: Int?
    /// Duration of digital silence after which audio counts as missing, in seconds.
    public var silenceSeconds: Int?
    /// Duration after which a picture that does not change counts as frozen, in seconds.
    public var freezeSeconds: Int?
    /// Duration after which a black picture counts as missing, in seconds.
    public var blackSeconds: Int?
    /// Time over which rates are measured, in seconds.
    public var windowSeconds: Int
    /// Time for which a stream must be good again before it counts as good, in seconds.
    public var recoverySeconds: Int

    public static let bitrates = 1_000...100_000_000
    public static let frameRates = 1...60
    public static let silences = 2...600
    public static let freezes = 2...600
    public static let blacks = 2...600
    public static let windows = 1...15
    public static let recoveries = 1...300
    public static let usualWindow = 4
    public static let usualRecovery = 5

    public init(
        minBitrate: Int? = nil, minFrameRate: Int? = nil, silenceSeconds: Int? = nil,
        freezeSeconds: Int? = nil, blackSeconds: Int? = nil,
        windowSeconds: Int = QualityLimits.usualWindow, recoverySeconds: Int = QualityLimits.usualRecovery
    ) {
        self.minBitrate = minBitrate
        self.minFrameRate = minFrameRate
        self.silenceSeconds = silenceSeconds
        self.freezeSeconds = freezeSeconds
        self.blackSeconds = blackSeconds
        self.windowSeconds = windowSeconds
        self.recoverySeconds = recoverySeconds
    }

    /// Whether keyframes have to be decoded.
    public var examinesPictures: Bool { freezeSeconds != nil || blackSeconds != nil }
}
