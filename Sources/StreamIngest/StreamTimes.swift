import EncodedMedia

/// The timestamps of a stream as players get them, which go on when a publisher comes back or another takes over. Pure.
///
/// The time without a publisher passes in the stream, too, so that a relay sees a stall and not another stream.
struct StreamTimes: Sendable {
    /// What is added to the publisher's timestamps; wraps.
    private var shift: UInt32 = 0
    /// Whether the next frame of the publisher decides about `shift`.
    private var isOpen = true
    /// The last timestamp that was given out, and when.
    private var last: (timestamp: UInt32, time: Int64)?

    /// Begins with another publisher.
    mutating func restart() { isOpen = true }

    /// The timestamp of a moment, in ms. `now` is in ns of a monotonic clock.
    func timestamp(at now: Int64) -> UInt32 {
        guard let last else { return 0 }
        let passed = max(1, now.saturatingDifference(last.time) / 1_000_000)
        return last.timestamp &+ UInt32(truncatingIfNeeded: passed)
    }

    /// Returns the timestamp for players of a tag that came now.
    mutating func map(_ timestamp: UInt32, isFrame: Bool, now: Int64) -> UInt32 {
        if isOpen {
            // A publisher's headers have times of their own.
            guard isFrame else { return last == nil ? timestamp : self.timestamp(at: now) }
            shift = last == nil ? 0 : self.timestamp(at: now) &- timestamp
            isOpen = false
        }
        let mapped = timestamp &+ shift
        if isFrame { last = (mapped, now) }
        return mapped
    }

}
