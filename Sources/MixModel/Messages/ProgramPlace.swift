import EncodedMedia

/// The moment at which a program's stream began, as another machine can go on from it.
///
/// It is what is left of a relay's clock when its machine is gone: the time of day. Machines of a cluster therefore need
/// clocks that agree (NTP).
public struct ProgramPlace: Hashable, Codable, Sendable {
    /// Time of day at stream time 0, in seconds since 1970.
    public var wallZero: Double
    /// Stream time at which the place was noted.
    public var noted: MediaTime
    /// Bound of the time by which timestamps were ahead of the clock.
    public var ahead: MediaTime
    /// Stream time of the last frame, if the relay has stopped for another one; `nil` while it sends.
    public var last: MediaTime?

    public init(wallZero: Double, noted: MediaTime, ahead: MediaTime, last: MediaTime? = nil) {
        self.last = last
        self.wallZero = wallZero
        self.noted = noted
        self.ahead = ahead
    }

    /// Whether the store should learn of this place, because a relay that went on from `other` could send a timestamp a
    /// second time.
    public func isNews(after other: ProgramPlace?) -> Bool {
        guard let other, last == other.last else { return true }
        return !(abs(wallZero - other.wallZero) < Self.tolerance) || ahead > other.ahead + .milliseconds(50)
    }

    /// Difference of times of day that is left alone, in seconds.
    private static let tolerance = 0.05
}
