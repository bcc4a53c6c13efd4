import EncodedMedia

/// Detects a screencast that may not have delivered the last state of its page. Pure; times in ns of a monotonic clock.
///
/// A browser drops pictures while others are in transit, even the last picture of an animation. Therefore, a screencast
/// that has become quiet after several pictures is restarted once, which delivers the page as it is.
struct Screencast: Sendable {
    /// Time in ns without a picture after which the page counts as quiet.
    static let quiet: Int64 = 300_000_000

    private var last: Int64?
    private var pictures = 0

    /// Records a picture.
    ///
    /// - Returns: The time at which to call `isQuiet`.
    mutating func took(now: Int64) -> Int64 {
        last = now
        pictures += 1
        return now.saturatingSum(Self.quiet)
    }

    /// Returns whether the screencast has to be restarted.
    mutating func isQuiet(now: Int64) -> Bool {
        guard let last, now.saturatingDifference(last) >= Self.quiet, pictures > 1 else { return false }
        // The picture that follows is the last state, and not a reason for another restart.
        pictures = 0
        return true
    }
}
