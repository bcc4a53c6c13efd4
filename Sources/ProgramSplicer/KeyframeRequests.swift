import EncodedMedia

/// Viewers' requests for a keyframe of the program: limits their rate, and preserves the regular keyframes of a mix.
/// Pure.
///
/// An encoder counts the distance to its next keyframe from the last one, so an extra one would move all that follow,
/// and HLS would have to cut a group of pictures. The mixer is therefore asked for the next regular one, too.
public struct KeyframeRequests: Sendable {
    /// Shortest time between two forwarded requests, regardless of the number of viewers.
    public static let pause = MediaTime.milliseconds(350)

    /// Time without a keyframe after which one is requested even without a viewer's request.
    public static let longestDistance = MediaTime.seconds(2)

    private var isWanted = false
    private var lastKeyframe: MediaTime?
    private var passedAt: MediaTime?
    /// The feed on air and the time of its last regular keyframe.
    private var regular: (feed: SpliceInput, time: MediaTime)?
    /// Whether the next keyframe of the feed on air may be one that a viewer requested.
    private var isExtraDue = false

    public init() {}

    /// Earliest time at which a waiting request may be forwarded; `nil` if none waits.
    public var due: MediaTime? { isWanted ? passedAt.map { $0 + Self.pause } ?? .zero : nil }

    /// Returns whether the program's last keyframe is older than `longestDistance`.
    public func lacksKeyframe(now: MediaTime) -> Bool {
        lastKeyframe.map { now - $0 > Self.longestDistance } ?? false
    }

    /// Records that a viewer needs a keyframe. The next one serves all waiting viewers.
    public mutating func ask() { isWanted = true }

    /// Returns whether a request must be forwarded now.
    public mutating func take(now: MediaTime) -> Bool {
        guard let due, due <= now else { return false }
        isWanted = false
        passedAt = now
        return true
    }

    /// Lets the forwarded request wait, because another one was made at `time`, less than `pause` ago.
    public mutating func wait(after time: MediaTime) {
        isWanted = true
        passedAt = time
    }

    /// Returns the times at which the mixer on air must make keyframes, so that viewers get one with the next picture.
    ///
    /// - Parameters:
    ///   - next: Time of the program's next picture.
    ///   - distance: Distance between two regular keyframes.
    public mutating func times(of mixer: SpliceInput, next: MediaTime, distance: MediaTime) -> [MediaTime] {
        isExtraDue = true
        guard let regular, regular.feed == mixer, regular.time + distance > next else { return [next] }
        return [next, regular.time + distance]
    }

    /// Records a keyframe of the program, from the feed on air.
    ///
    /// - Parameter distance: Distance between two regular keyframes of a mixer; `nil` for any other feed.
    public mutating func noteKeyframe(at time: MediaTime, of feed: SpliceInput, distance: MediaTime?) {
        isWanted = false
        lastKeyframe = time
        if let regular, let distance, regular.feed == feed, isExtraDue, time < regular.time + distance - Splicer.step {
            isExtraDue = false
        } else {
            regular = (feed, time)
        }
    }
}
