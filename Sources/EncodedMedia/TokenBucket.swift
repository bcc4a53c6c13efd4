/// A token bucket that allows a rate, and bursts of one second of the rate unless another size is given.
///
/// Pure: times are arguments, in ns of any monotonic clock. A request larger than a burst is allowed when the bucket is
/// full. The bucket then goes into debt.
package struct TokenBucket: Hashable, Sendable {
    /// Tokens per second.
    package let rate: Double
    /// Capacity of the bucket, in tokens.
    package let burst: Double
    private var level: Double
    private var updatedAt: Int64

    package init(rate: Double, burst: Double? = nil, now: Int64) {
        self.rate = rate
        self.burst = burst ?? rate
        level = self.burst
        updatedAt = now
    }

    /// - Returns: `nil` if the request is allowed, otherwise the ns until it would be. In that case no tokens are
    ///   taken.
    package mutating func take(_ count: Double, at now: Int64) -> Int64? {
        refill(at: now)
        let missing = min(count, burst) - level
        guard missing > 0 else {
            level -= count
            return nil
        }
        return Int64((missing / rate * 1e9).rounded(.up))
    }

    /// Returns whether the bucket is full again.
    package func isFull(at now: Int64) -> Bool {
        var copy = self
        copy.refill(at: now)
        return copy.level >= burst
    }

    private mutating func refill(at now: Int64) {
        level = min(burst, level + Double(max(now - updatedAt, 0)) / 1e9 * rate)
        updatedAt = max(now, updatedAt)
    }
}
