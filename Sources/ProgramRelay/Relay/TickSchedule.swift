import EncodedMedia

/// Decides when a relay checks for changes that depend on time alone. Pure.
///
/// Every check wakes the loop, which costs as much as forwarding a packet. In a calm bypass it therefore waits until
/// something is due.
struct TickSchedule {
    /// Time between two checks while deadlines are near: a splice, a connection, a mixer.
    static let near = MediaTime.milliseconds(50)
    /// Time between two checks while outputs need calls of `tick()`.
    static let outputs = MediaTime.milliseconds(250)
    /// Longest time between two status reports. `early`: time before that at which a check already sends one.
    static let status = MediaTime.seconds(1)
    static let early = MediaTime.milliseconds(100)

    /// Time before a check in a calm bypass from which a packet already causes it: longer than the usual distance of two
    /// packets, and less than `early`.
    static let advance = MediaTime.milliseconds(60)

    private var due: MediaTime?
    /// Whether the next check is one of a calm bypass.
    private var isCalm = false

    /// Returns whether a packet that is being handled now causes the next check, so that it does not wake the loop once more.
    func isDueWithPacket(at now: MediaTime) -> Bool { isCalm && due.map { now >= $0 - Self.advance } ?? false }

    /// Records that a check is made now.
    mutating func reached() { due = nil }

    /// Returns the time of the next check.
    /// - Parameters:
    ///   - calmUntil: In a calm bypass, the time of the next due work if nothing else happens; `nil` at any other time.
    ///   - deadlines: Future times at which a check is more useful than at the usual distance.
    mutating func next(now: MediaTime, calmUntil: MediaTime?, deadlines: [MediaTime] = []) -> MediaTime {
        let usual = now + Self.near
        // A planned check is not postponed by earlier events.
        let next = calmUntil ?? deadlines.filter { $0 > now }.reduce(min(due ?? usual, usual), min)
        due = next
        isCalm = calmUntil != nil
        return next
    }
}
