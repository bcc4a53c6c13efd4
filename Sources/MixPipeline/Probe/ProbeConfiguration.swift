import LayoutEngine

/// What the probe must know to judge a program.
public struct ProbeConfiguration: Codable, Sendable {
    /// Every synthetic source that may be on air.
    public var publishers: [SyntheticPublisher]
    /// Every scene that may be on air; without them marks are found only where a source fills the picture.
    public var scenes: [Scene]
    /// Splices between bypass and mix that must be seen; `nil` = any number.
    public var expectedSwitches: Int?
    public var limits: ProbeLimits

    public init(
        publishers: [SyntheticPublisher], scenes: [Scene] = [], expectedSwitches: Int? = nil,
        limits: ProbeLimits = ProbeLimits()
    ) {
        self.publishers = publishers
        self.scenes = scenes
        self.expectedSwitches = expectedSwitches
        self.limits = limits
    }

    func publisher(_ id: Int) -> SyntheticPublisher? { publishers.first { $0.id == id } }
}

/// How good a program must be. Defaults are the project's promise for sources and canvas of equal rates.
public struct ProbeLimits: Hashable, Codable, Sendable {
    /// Difference of a video interval from its nominal length, in ms.
    public var videoGapMs = 2.0
    /// Difference of an audio interval from the length of an AAC frame, in ms.
    public var audioGapMs = 1.0
    /// The same where the audio configuration changes: at most one AAC frame.
    public var audioGapAtRateChangeMs = 24.0
    /// Change of the A/V offset across a switch, in ms.
    public var avShiftMs = 2.0
    /// Difference per channel between pane and bypass, of 255.
    public var colour = 3.0
    /// Jump of the host's tone in degrees.
    public var phaseDegrees = 10.0
    /// Broadband peak at a switch above that of its surroundings, in dB, once it is louder than `clickFloor`.
    public var clickDecibels = 12.0
    /// Full scale = 0 dB. A click below cannot be heard.
    public var clickFloor = -46.0
    /// What the mix may add to the delay of the bypass, median, in ms.
    public var mixDelayMs = 50.0
    /// Frozen or black time in ms.
    public var frozenMs = 0.0
    /// Pictures in which no mark can be read.
    public var unreadable = 0
    /// Pictures of a switch's host that may be lost or repeated over the whole program.
    public var contentFaults = 0

    public init() {}
}
