/// The pause before the next connection to a worker whose connections end early, such as one that sends no reports but
/// nonsense: 50 ms at first, then doubling to 5 s. Pure.
struct ReconnectPause: Sendable {
    private static let first: Duration = .milliseconds(50)
    private static let longest: Duration = .seconds(5)
    /// Duration of a connection after which its end counts as a new fault.
    private static let stableAfter: Duration = .seconds(5)

    private var last: Duration = .zero

    /// Returns the pause after a connection of this duration. It is zero after one that was stable.
    mutating func next(after duration: Duration) -> Duration {
        guard duration < Self.stableAfter else {
            last = .zero
            return .zero
        }
        last = last == .zero ? Self.first : min(last * 2, Self.longest)
        return last
    }
}
