/// A limit of events within a sliding window. Pure: times are arguments, in nanoseconds of any monotonic clock.
struct WindowLimit: Hashable, Sendable {
    /// Maximum number of events within `window`.
    private let most: Int
    /// Length of the window, in nanoseconds.
    private let window: Int64
    /// Times of the counted events, which may be older than the window; at most `most`.
    private var times: [Int64] = []

    init(most: Int, window: Int64) {
        self.most = most
        self.window = window
    }

    /// Returns whether `take` would count an event at `now`.
    func permits(at now: Int64) -> Bool {
        times.count { now - $0 < window } < most
    }

    /// Counts an event at `now` if the limit permits it.
    ///
    /// - Returns: False if it does not; the event is then not counted.
    mutating func take(at now: Int64) -> Bool {
        guard permits(at: now) else { return false }
        times.removeAll { now - $0 >= window }
        times.append(now)
        return true
    }
}
