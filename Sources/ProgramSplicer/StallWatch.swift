import EncodedMedia

/// Decides from the arrivals of one track when its source has stalled, and when it is steady again. Pure.
///
/// A stall is a time without a frame that is longer than the interval of the frames and the jitter of a network. A
/// track whose frames have recently had longer gaps gets more time, so that a bad network does not cause splices back
/// and forth. See ADR 42 for the numbers.
public struct StallWatch: Sendable {
    /// Network jitter that does not count as a stall.
    static let jitter = MediaTime.milliseconds(200)
    /// Time beyond the interval after which a stall is suspected, and a mixer begins to prepare for it.
    static let suspicion = MediaTime.milliseconds(70)
    /// Least time that remains for this preparation.
    static let lead = MediaTime.milliseconds(40)
    /// Longest gap that may be jitter. A longer gap counts as a stall, unless it occurs repeatedly.
    static let hiccup = MediaTime.milliseconds(600)
    /// Upper limit of the patience, unless the track's own interval is longer.
    static let mostPatience = MediaTime.milliseconds(1000)
    /// Time for which gaps and stalls are remembered.
    static let memory = MediaTime.seconds(30)
    /// Number of gaps after which they count as normal for the track, regardless of their length.
    static let usual = 3
    /// Time without a stall after which the source is steady again. It doubles with each stall that is remembered.
    static let calm = MediaTime.seconds(1)
    static let mostCalm = MediaTime.seconds(8)
    /// Time without a shift of the timeline that is required after a stall.
    static let settling = MediaTime.milliseconds(500)

    /// Arrival of the newest frame, or later by an excuse; `nil` before the first one.
    public private(set) var last: MediaTime?
    /// Whether there was an excuse since the newest frame.
    private var isExcused = false
    /// The longest gaps, at most `mostGaps`, with the times at which they ended.
    private var gaps: [(length: MediaTime, at: MediaTime)] = []
    private static let mostGaps = 8
    /// Times at which stalls ended, at most `mostGaps`.
    private var stalls: [MediaTime] = []
    private var calmAt: MediaTime?
    private var interval = MediaTime.milliseconds(40)

    public init() {}

    /// Records a frame that arrived.
    /// - Parameter interval: Usual time between two frames of the track.
    public mutating func arrived(at now: MediaTime, interval: MediaTime) {
        isExcused = false
        defer { last = max(last ?? now, now) }
        guard let last, now > last else {
            self.interval = interval
            return
        }
        let gap = now - last
        let (patience, usual) = (patience(at: now), least)
        self.interval = interval
        guard gap > usual / 2 else { return }
        gaps.removeAll { now - $0.at > Self.memory }
        gaps.append((gap, now))
        gaps.sort { $0.length > $1.length }
        if gaps.count > Self.mostGaps { gaps.removeLast() }
        if gap > patience {
            stalls.removeAll { now - $0 > Self.memory }
            stalls.append(now)
            if stalls.count > Self.mostGaps { stalls.removeFirst() }
        }
        guard gap > patience || gap > usual && !isNature(gap) && !isSteady(at: now) else { return }
        calmAt = now + min(Self.calm * (1 << Int64(max(stalls.count - 1, 0))), Self.mostCalm)
    }

    /// Records that the source's timeline was moved: after a stall it is still catching up.
    public mutating func moved(at now: MediaTime) {
        guard !stalls.isEmpty else { return }
        calmAt = max(calmAt ?? now, now + Self.settling)
    }

    /// Records that the caller itself stood still, so that it does not know whether the source has delivered: the time
    /// does not count as a gap. At most `mostPatience` is excused: after more, the source has missed frames that a mix must
    /// make. Only the first excuse after a frame counts, so that a caller who is always late notices a stall as well.
    public mutating func excuse(_ standstill: MediaTime, at now: MediaTime) {
        guard let last, !isExcused, standstill > .zero else { return }
        isExcused = true
        self.last = max(last, min(last + min(standstill, Self.mostPatience), now))
    }

    /// Returns whether the source has stalled. False before its first frame.
    public func hasStalled(at now: MediaTime) -> Bool {
        guard let last, now - last > least else { return false }
        return now - last > patience(at: now)
    }

    /// Returns whether the source is about to stall.
    public func isSuspect(at now: MediaTime) -> Bool {
        guard let last, now - last > interval + Self.suspicion else { return false }
        return now - last > trust(at: now)
    }

    /// Returns whether the source has delivered for long enough since its last stall to be copied.
    public func isSteady(at now: MediaTime) -> Bool { calmAt.map { now >= $0 } ?? true }

    /// Time of the next change if nothing arrives; `nil` if there is none.
    public func nextChange(after now: MediaTime) -> MediaTime? {
        guard let last else { return nil }
        // Beyond the limits, which are exclusive. Every packet asks for this, so no array is made.
        let begin = last + MediaTime(nanoseconds: 1)
        let (suspicion, stall) = (begin + trust(at: now), begin + patience(at: now))
        return suspicion > now ? suspicion : stall > now ? stall : nil
    }

    /// Returns whether gaps of about this length have occurred so often that they are normal for the source. Some
    /// servers collect several pictures before they send them; SRS does so for 350 ms by default.
    private func isNature(_ gap: MediaTime) -> Bool {
        gaps.count { $0.length <= gap * 5 / 4 && gap <= $0.length * 5 / 4 } >= Self.usual
    }

    private var least: MediaTime { interval + Self.jitter }

    /// Time without a frame up to which no stall is suspected. Gaps as long as recent ones raise no suspicion, because
    /// each suspicion costs the start of a process.
    private func trust(at now: MediaTime) -> MediaTime {
        min(max(interval + Self.suspicion, longestHiccup(at: now) * 5 / 4), patience(at: now) - Self.lead)
    }

    private func longestHiccup(at now: MediaTime) -> MediaTime {
        gaps.first { now - $0.at <= Self.memory && $0.length <= Self.hiccup }?.length ?? .zero
    }

    /// Time without a frame up to which the source has not stalled.
    public func patience(at now: MediaTime) -> MediaTime {
        guard !gaps.isEmpty else { return least }
        return max(least, min(max(longestHiccup(at: now), nature(at: now)) * 5 / 4, Self.mostPatience))
    }

    /// Length that as many recent gaps reach as count as normal; zero if there are fewer.
    private func nature(at now: MediaTime) -> MediaTime {
        var count = 0
        for gap in gaps where now - gap.at <= Self.memory {
            count += 1
            if count == Self.usual { return gap.length }
        }
        return .zero
    }
}
