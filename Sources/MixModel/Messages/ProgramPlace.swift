import EncodedMedia

/// The position of a program's stream on the clock, from which another machine can continue it.
///
/// It is the part of a relay's clock that outlives its machine: the time of day. Machines of a cluster therefore need
/// synchronized clocks (NTP).
public struct ProgramPlace: Hashable, Codable, Sendable {
    /// Time of day at stream time 0, in seconds since 1970.
    public var wallZero: Double
    /// Stream time at which the place was recorded.
    public var noted: MediaTime
    /// Upper bound of the time by which timestamps were ahead of the clock.
    public var ahead: MediaTime
    /// Stream time of the last frame, if the relay has stopped to let another one continue; `nil` while it sends.
    public var last: MediaTime?

    public init(wallZero: Double, noted: MediaTime, ahead: MediaTime, last: MediaTime? = nil) {
        self.last = last
        self.wallZero = wallZero
        self.noted = noted
        self.ahead = ahead
    }

    /// Returns whether this place must be stored, because a relay that continued from `other` could send a timestamp twice.
    public func isNews(after other: ProgramPlace?) -> Bool {
        guard let other, last == other.last else { return true }
        return !(abs(wallZero - other.wallZero) < Self.tolerance) || ahead > other.ahead + .milliseconds(50)
    }

    /// Difference between times of day that is ignored, in seconds.
    private static let tolerance = 0.05
}
