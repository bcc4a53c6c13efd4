import EncodedMedia
import MediaFormats

/// The time on the machine's clocks at which a program's stream began.
///
/// A relay stores it outside its process, so that the successor of a killed relay continues the stream's timestamps.
public struct ProgramAnchor: Hashable, Codable, Sendable {
    /// Identifier of the machine's run, which changes with each boot.
    public var boot: String
    /// CLOCK_MONOTONIC at stream time 0, in ns; comparable within one boot.
    public var zero: Int64
    /// Time of day at stream time 0, in seconds since 1970.
    public var wallZero: Double
    /// Stream time at which the anchor was noted.
    public var noted: MediaTime
    /// Upper bound of the time by which timestamps were ahead of the clock.
    public var ahead: MediaTime

    public init(boot: String, zero: Int64, wallZero: Double, noted: MediaTime, ahead: MediaTime) {
        self.boot = boot
        self.zero = zero
        self.wallZero = wallZero
        self.noted = noted
        self.ahead = ahead
    }

    /// Longest stream that is continued. A longer one is taken for an invalid anchor.
    static let longest = MediaTime.seconds(400 * 86_400)
    /// Largest time by which timestamps may be ahead of the clock.
    static let mostAhead = MediaTime.seconds(60)

    /// Returns the stream time at which a relay that starts now continues the stream.
    ///
    /// Within one boot the stream's time follows CLOCK_MONOTONIC. After a reboot it follows the time of day, but never
    /// goes back before a timestamp that may have been sent.
    ///
    /// - Parameters:
    ///   - boot: Identifier of the machine's current run.
    ///   - clock: CLOCK_MONOTONIC now, in ns.
    ///   - wall: Time of day now, in seconds since 1970.
    ///   - programStart: CLOCK_MONOTONIC at time 0 of the new relay's program, in ns.
    /// - Returns: `nil` if the anchor cannot be true.
    public func continuation(boot: String, clock: Int64, wall: Double, programStart: Int64)
        -> FLVProgram.Continuation?
    {
        let clock = MediaTime(nanoseconds: clock)
        let elapsed =
            boot == self.boot
            ? clock - MediaTime(nanoseconds: zero)
            : max(.seconds(wall - wallZero), noted + AnchorSchedule.interval)
        guard elapsed >= .zero, elapsed < Self.longest else { return nil }
        let ahead = min(max(ahead, .zero), Self.mostAhead)
        let now = clock - MediaTime(nanoseconds: programStart)
        return FLVProgram.Continuation(origin: now - elapsed, earliest: elapsed + ahead)
    }
}

/// Decides when a program's anchor is written, so that it bounds every timestamp that was sent. Pure.
public struct AnchorSchedule: Sendable {
    /// Longest time between two writes. After a reboot the stream continues at least as much later.
    public static let interval = MediaTime.seconds(10)
    /// Growth of the lead beyond the written one that requires another write.
    static let tolerance = MediaTime.milliseconds(50)

    private var last: (at: MediaTime, ahead: MediaTime)?
    /// Largest lead since the last write.
    private var most = MediaTime.zero

    public init() {}

    /// Records a frame that is being sent. Both times are program time.
    ///
    /// - Returns: The lead to write, including the tolerance; `nil` if no write is due.
    public mutating func sent(_ dts: MediaTime, now: MediaTime) -> MediaTime? {
        most = max(most, dts - now)
        if let last, most <= last.ahead, now - last.at < Self.interval { return nil }
        let ahead = most + Self.tolerance
        last = (now, ahead)
        most = .zero
        return ahead
    }
}
