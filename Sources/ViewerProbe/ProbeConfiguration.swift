import LayoutEngine

/// The facts that the probe needs to judge a program.
public struct ProbeConfiguration: Codable, Sendable {
    /// Every synthetic source that may be on air.
    public var publishers: [SyntheticPublisher]
    /// Every scene that may be on air. Without scenes, marks are found only if a source fills the picture.
    public var scenes: [Scene]
    /// Number of splices between bypass and mix that must be seen; `nil` means any number.
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

/// The quality that a program must have. Defaults are the project's promise for sources and canvas of equal rates.
public struct ProbeLimits: Hashable, Codable, Sendable {
    /// Largest difference of a video interval from its nominal length, in ms.
    public var videoGapMs = 2.0
    /// Largest difference of an audio interval from the length of an AAC frame, in ms.
    public var audioGapMs = 1.0
    /// The same where the audio configuration changes, in ms: at most one AAC frame.
    public var audioGapAtRateChangeMs = 24.0
    /// Largest change of the A/V offset across a switch, in ms.
    public var avShiftMs = 2.0
    /// Largest difference per channel between pane and bypass, out of 255.
    public var colour = 3.0
    /// Largest jump of the host's tone, in degrees.
    public var phaseDegrees = 10.0
    /// Largest excess of the broadband peak at a switch over its surroundings, in dB. Peaks below `clickFloor` do not
    /// count.
    public var clickDecibels = 12.0
    /// Level in dB of full scale below which a click cannot be heard.
    public var clickFloor = -75.0
    /// Level in dB of full scale below which a peak above 0.146 of the sample rate is no click. A beep leaves −94 dB
    /// there.
    public var bandClickFloor = -75.0
    /// Largest median delay that the mix adds to the bypass, in ms.
    public var mixDelayMs = 50.0
    /// Longest frozen or black time, in ms.
    public var frozenMs = 0.0
    /// Largest number of pictures in which no mark can be read.
    public var unreadable = 0
    /// Largest number of a host's pictures that may be lost or repeated over the whole program.
    public var contentFaults = 0

    public init() {}
}
