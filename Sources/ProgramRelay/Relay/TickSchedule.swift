import EncodedMedia

/// Decides when a relay looks at what time alone changes. Pure.
///
/// Every look wakes the loop, which costs as much as forwarding a packet. In a calm bypass it therefore waits until
/// something is due.
struct TickSchedule {
    /// Time between two looks while deadlines are near: a splice, a connection, a mixer.
    static let near = MediaTime.milliseconds(50)
    /// Time between two looks beside outputs that do what is due in `tick()`.
    static let outputs = MediaTime.milliseconds(250)
    /// Longest time between two reports of the status, and the time before it at which a look brings one with it.
    static let status = MediaTime.seconds(1)
    static let early = MediaTime.milliseconds(100)

    private var due: MediaTime?

    /// Notes that a look is made now.
    mutating func reached() { due = nil }

    /// Returns the time of the next look.
    /// - Parameters:
    ///   - calmUntil: In a calm bypass, the time at which something is due if nothing else happens; `nil` at any other
    ///     time.
    ///   - deadlines: Times ahead at which a look is worth more than one at the usual distance.
    mutating func next(now: MediaTime, calmUntil: MediaTime?, deadlines: [MediaTime] = []) -> MediaTime {
        let usual = now + Self.near
        // A look that was planned is not put off by what happens before it.
        let next = calmUntil ?? deadlines.filter { $0 > now }.reduce(min(due ?? usual, usual), min)
        due = next
        return next
    }
}
