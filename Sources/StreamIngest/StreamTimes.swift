import EncodedMedia

/// The timestamps of a stream for its players, which continue when a publisher returns or another one takes over. Pure.
///
/// Time without a publisher advances the stream, too, so that a relay sees a stall instead of a new stream.
struct StreamTimes: Sendable {
    /// Offset that is added to the publisher's timestamps; wraps.
    private var shift: UInt32 = 0
    /// Whether the next frame of the publisher determines `shift`.
    private var isOpen = true
    /// The last timestamp returned, and its time.
    private var last: (timestamp: UInt32, time: Int64)?

    /// Prepares for another publisher.
    mutating func restart() { isOpen = true }

    /// Returns the timestamp of a moment, in ms. `now` is in ns of a monotonic clock.
    func timestamp(at now: Int64) -> UInt32 {
        guard let last else { return 0 }
        let passed = max(1, now.saturatingDifference(last.time) / 1_000_000)
        return last.timestamp &+ UInt32(truncatingIfNeeded: passed)
    }

    /// Returns the players' timestamp for a tag that arrived now.
    mutating func map(_ timestamp: UInt32, isFrame: Bool, now: Int64) -> UInt32 {
        if isOpen {
            // A publisher's headers have timestamps of their own.
            guard isFrame else { return last == nil ? timestamp : self.timestamp(at: now) }
            shift = last == nil ? 0 : self.timestamp(at: now) &- timestamp
            isOpen = false
        }
        let mapped = timestamp &+ shift
        if isFrame { last = (mapped, now) }
        return mapped
    }

}
