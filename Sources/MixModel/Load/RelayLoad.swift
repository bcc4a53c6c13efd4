/// What a relay and its mixer have used so far; part of `RelayStatus`.
public struct RelayLoad: Hashable, Codable, Sendable {
    /// CPU time of the relay's process, in seconds.
    public var relaySeconds: Double
    /// `nil` while there is none.
    public var mixer: MixerLoad?

    public init(relaySeconds: Double, mixer: MixerLoad? = nil) {
        self.relaySeconds = relaySeconds
        self.mixer = mixer
    }
}

/// What a mixer has used and how it keeps up.
public struct MixerLoad: Hashable, Codable, Sendable {
    public var processID: Int32
    /// CPU time of its process, in seconds.
    public var cpuSeconds: Double
    /// Each so manieth frame of the canvas is made.
    public var frameDivisor: Int
    public var pace: FramePace

    public init(processID: Int32, cpuSeconds: Double, frameDivisor: Int, pace: FramePace) {
        self.processID = processID
        self.cpuSeconds = cpuSeconds
        self.frameDivisor = frameDivisor
        self.pace = pace
    }
}

/// Counts a mixer's frames by how they came.
public struct FramePace: Hashable, Codable, Sendable {
    public private(set) var made: Int
    /// Came later after their time than waiting for a late source explains.
    public private(set) var late: Int
    /// Left out by a mixer that was too slow.
    public private(set) var missing: Int

    private var last: MediaTime?

    /// A mixer waits up to 120 ms for a source's network; decoding and encoding take some tens unless it is too slow.
    public static let tolerance = MediaTime.milliseconds(250)
    /// A mixer begins in the past and catches up.
    public static let start = MediaTime.seconds(2)

    private enum CodingKeys: CodingKey { case made, late, missing }

    public init(made: Int = 0, late: Int = 0, missing: Int = 0) {
        self.made = made
        self.late = late
        self.missing = missing
    }

    /// Takes a frame that is shown at `pts` and arrived `now`, both program time.
    ///
    /// - Parameters:
    ///   - origin: When the mixer's first frame is shown.
    ///   - interval: Largest distance of two frames while none is missing.
    public mutating func take(pts: MediaTime, now: MediaTime, origin: MediaTime, interval: MediaTime) {
        made += 1
        defer { last = pts }
        guard pts - origin > Self.start else { return }
        if now - pts > Self.tolerance { late += 1 }
        if let last, pts - last > interval * 3 / 2 {
            let intervals = (pts - last + interval / 2) / max(interval.nanoseconds, 1)
            missing = missing.saturatingSum(Int(intervals.nanoseconds) - 1)
        }
    }
}
