/// A limit of one log line per second, for events that clients can cause at any rate.
///
/// Pure: times are arguments, in ns of any monotonic clock.
package struct LogLimit: Hashable, Sendable {
    /// Time in ns for which no line follows another.
    private static let interval: Int64 = 1_000_000_000

    private var quietUntil = Int64.min

    package init() {}

    /// Returns whether a line may be logged at `now`. If so, none may be in the second that follows.
    package mutating func permitsLine(at now: Int64) -> Bool {
        guard now >= quietUntil else { return false }
        quietUntil = now.saturatingSum(Self.interval)
        return true
    }
}
