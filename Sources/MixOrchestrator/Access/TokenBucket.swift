/// Allows a rate, and a burst of one second of it. Pure: times are arguments, in ns of any clock that only goes forward.
///
/// What is asked for at once may be more than a burst: it is allowed when the bucket is full, and owed afterwards.
struct TokenBucket: Hashable, Sendable {
    /// Per second.
    let rate: Double
    private var level: Double
    private var updatedAt: Int64

    init(rate: Double, now: Int64) {
        self.rate = rate
        level = rate
        updatedAt = now
    }

    /// - Returns: Nothing when it is allowed, otherwise after how many ns it would be; nothing is taken then.
    mutating func take(_ count: Double, at now: Int64) -> Int64? {
        refill(at: now)
        let missing = min(count, rate) - level
        guard missing > 0 else {
            level -= count
            return nil
        }
        return Int64((missing / rate * 1e9).rounded(.up))
    }

    /// Whether it is as good as new.
    func isFull(at now: Int64) -> Bool {
        var copy = self
        copy.refill(at: now)
        return copy.level >= rate
    }

    private mutating func refill(at now: Int64) {
        level = min(rate, level + Double(max(now - updatedAt, 0)) / 1e9 * rate)
        updatedAt = max(now, updatedAt)
    }
}
