/// Decides which segment of a playlist is fetched next, and when the playlist is reloaded (RFC 8216 §6.3).
///
/// Playback of a live playlist begins three target durations before its end, or at the distance that the server wants.
/// From then on, segments are followed by number. If a playlist has not grown for long, the follower waits: otherwise,
/// its last segments would be played again at each connection.
public struct PlaylistFollower: Sendable {
    public enum Step: Hashable, Sendable {
        /// Load the playlist, but not earlier than this number of seconds after the last load began.
        case load(after: Double)
        /// Fetch this segment. If it begins anew, a new reader is needed for the bytes of segments.
        case fetch(ReceivedSegment, beginsAnew: Bool)
        /// No segment follows the last one.
        case ended
    }

    /// Number of consecutive outdated versions of a playlist after which the server counts as restarted. A cache may
    /// deliver old versions for a while.
    private static let mostOld = 3
    /// Largest number of attempts to fetch a segment that the server refuses.
    private static let mostAttempts = 3
    /// Number of target durations without a new segment after which the sender of a live playlist counts as gone. A
    /// server must add a segment within one and a half (RFC 8216 §6.2.1).
    private static let stale = 4.0

    private var playlist: ReceivedSegments?
    /// Number of the next segment; `nil` until a segment is known.
    private var next: Int64?
    private var beginsAnew = true
    private var isChanged = true
    private var old = 0
    private var refusals = 0
    private var map: ReceivedSegment.Resource?
    private var secondsUnchanged: Double?

    public init() {}

    /// Applies the newest version of the playlist.
    ///
    /// - Parameter secondsUnchanged: Time for which it has not changed; `nil` if unknown.
    public mutating func took(_ playlist: ReceivedSegments, secondsUnchanged: Double? = nil) {
        self.secondsUnchanged = secondsUnchanged
        let last = playlist.segments.last?.number
        isChanged =
            self.playlist.map { $0.segments.last != playlist.segments.last || $0.isEnded != playlist.isEnded } ?? true
        self.playlist = playlist
        guard let next, let first = playlist.segments.first?.number, let last else { return start() }
        guard last + 1 >= next else {
            old += 1
            // The server has restarted its numbering.
            if old >= Self.mostOld || playlist.isEnded { start() }
            return
        }
        old = 0
        // The segment that was to come next is no longer listed.
        if next < first { start() }
    }

    /// Begins at the place where a player that joins now would begin.
    private mutating func start() {
        (next, old, refusals, beginsAnew) = (nil, 0, 0, true)
        guard let playlist, let first = playlist.segments.first else { return }
        guard !playlist.isEnded, !playlist.isOnDemand else {
            next = first.number
            return
        }
        if let secondsUnchanged, secondsUnchanged > Self.stale * playlist.targetDuration,
            let last = playlist.segments.last?.number
        {
            next = last + 1
            return
        }
        let distance = playlist.holdBack ?? 3 * playlist.targetDuration
        var total = 0.0
        for segment in playlist.segments.reversed() {
            total += segment.duration
            next = segment.number
            if total >= distance { break }
        }
    }

    /// Returns the next step.
    public mutating func step() -> Step {
        guard let playlist else { return .load(after: 0) }
        while let next, let first = playlist.segments.first?.number, next >= first,
            Int(clamping: next - first) < playlist.segments.count
        {
            let segment = playlist.segments[Int(next - first)]
            guard segment.isGap else {
                return .fetch(
                    segment, beginsAnew: beginsAnew || segment.isDiscontinuity || segment.map != map)
            }
            skip()
        }
        if playlist.isEnded { return .ended }
        return .load(after: isChanged ? playlist.targetDuration : playlist.targetDuration / 2)
    }

    /// Records that the segment of the last step has been fetched.
    public mutating func fetched(_ segment: ReceivedSegment) {
        (next, map, beginsAnew, refusals) = (segment.number + 1, segment.map, false, 0)
    }

    /// Records that the server does not have the segment of the last step, which is skipped after several attempts.
    public mutating func refused() {
        refusals += 1
        if refusals >= Self.mostAttempts { skip() }
    }

    private mutating func skip() {
        (next, beginsAnew, refusals) = (next.map { $0 + 1 }, true, 0)
    }
}
