import EncodedMedia

/// The turns in which a connection begins streams, each of which costs the service a process, or at least a connection
/// of many threads. Pure; times are in ns of a monotonic clock.
///
/// Over WHIP, a stream that begins too soon is refused. Web Call Server's clients do not try again, so theirs wait. A
/// turn is taken only when it is due: streams that are given up while they wait cost the others nothing.
struct WCSTurns: Sendable {
    /// Streams per second that a connection may begin, and at once: as a client over WHIP.
    static let rate = 5
    /// Streams per second that all connections with one token, or without tokens from one address, may begin. One token
    /// may be that of all viewers of an app, who all come back when the service was restarted.
    static let ratePerCaller = 50
    /// Longest wait for a turn.
    static let patience: Int64 = 60_000_000_000
    /// Time between two attempts to take a turn.
    static let step: Duration = .milliseconds(100)

    private var bucket: TokenBucket

    init(now: Int64) { bucket = TokenBucket(rate: Double(Self.rate), now: now) }

    /// Returns whether it is the turn of the stream that asks, and takes the turn.
    mutating func take(now: Int64) -> Bool { bucket.take(1, at: now) == nil }

    /// Waits for a stream's turn.
    ///
    /// - Returns: False if the stream is not wanted any more, waits for longer than `patience`, or its task is cancelled.
    static func wait(
        while isWanted: @Sendable () async -> Bool, until isDue: @Sendable () async -> Bool
    ) async -> Bool {
        let end = MonotonicClock.now().saturatingSum(patience)
        while await isWanted(), MonotonicClock.now() < end {
            if await isDue() { return true }
            guard (try? await Task.sleep(for: step)) != nil else { return false }
        }
        return false
    }
}
