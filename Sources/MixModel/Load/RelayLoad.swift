import EncodedMedia

/// The resources used so far by a relay and its mixer; part of `RelayStatus`.
public struct RelayLoad: Hashable, Codable, Sendable {
    /// CPU time of the relay's process, in seconds.
    public var relaySeconds: Double
    /// Resources used by the mixer; `nil` while there is none.
    public var mixer: MixerLoad?
    /// Resources used by the mixer's twin; `nil` while there is none.
    public var twin: MixerLoad?

    public init(relaySeconds: Double, mixer: MixerLoad? = nil, twin: MixerLoad? = nil) {
        self.twin = twin
        self.relaySeconds = relaySeconds
        self.mixer = mixer
    }

    /// Returns the resources used by the mixer or twin with this process identifier.
    public func mixer(_ processID: Int32) -> MixerLoad? {
        [mixer, twin].compactMap(\.self).first { $0.processID == processID }
    }
}

/// The resources used by a mixer, and its pace.
public struct MixerLoad: Hashable, Codable, Sendable {
    public var processID: Int32
    /// CPU time of its process, in seconds.
    public var cpuSeconds: Double
    /// Distance between rendered canvas frames, in frames; 1 means that every frame is rendered.
    public var frameDivisor: Int
    public var pace: FramePace

    public init(processID: Int32, cpuSeconds: Double, frameDivisor: Int, pace: FramePace) {
        self.processID = processID
        self.cpuSeconds = cpuSeconds
        self.frameDivisor = frameDivisor
        self.pace = pace
    }
}

/// Counters of a mixer's frames by punctuality.
public struct FramePace: Hashable, Codable, Sendable {
    public private(set) var made: Int
    /// Number of frames that came later than waiting for a late source explains.
    public private(set) var late: Int
    /// Number of frames left out by a mixer that was too slow.
    public private(set) var missing: Int

    private var last: MediaTime?

    /// Delay beyond which a frame is late. A mixer waits up to 120 ms for a source's network; decoding and encoding
    /// take some tens of milliseconds unless it is too slow.
    public static let tolerance = MediaTime.milliseconds(250)
    /// Time from the first frame on in which pace is not judged, because a mixer begins in the past and catches up.
    public static let start = MediaTime.seconds(2)

    private enum CodingKeys: CodingKey { case made, late, missing }

    public init(made: Int = 0, late: Int = 0, missing: Int = 0) {
        self.made = made
        self.late = late
        self.missing = missing
    }

    /// Counts a frame that is shown at `pts` and arrived at `now`, both in program time.
    ///
    /// - Parameters:
    ///   - origin: Program time of the mixer's first frame.
    ///   - interval: Largest distance between two frames while none is missing.
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
