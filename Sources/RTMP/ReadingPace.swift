import EncodedMedia

/// Decides when a loop lets the packets of several calm programs collect, so that one wake-up reads those of all. Pure; all times
/// are in ns of one clock.
///
/// A wake-up costs more than a packet. For a few programs, a loop that waits for a quantum after each packet would wake more
/// often than for the packets alone; from some events a second on it wakes less often. A packet is delayed by one quantum at
/// most, and only while no holder is restless.
struct ReadingPace: Sendable {
    /// Least time between two reads while packets arrive; 0 means that they are read as they arrive.
    var quantum: Int64
    /// Holders for which no packet may be delayed at present.
    private var restless: Set<ObjectIdentifier> = []
    /// Whether so much arrives that quanta save wake-ups.
    private(set) var isWorthwhile = false
    /// Time of the last read; `nil` if it found nothing.
    private var readAt: Int64?
    /// Begin of the period over which events are counted; `nil` before the first.
    private var begun: Int64?
    private var events = 0

    /// Period over which events are counted.
    static let period: Int64 = 1_000_000_000

    init(quantum: Int64 = 0) { self.quantum = quantum }

    /// Whether anything is counted.
    var isOn: Bool { quantum > 0 }

    /// Sets whether packets of a holder may be delayed. A holder that was never named is calm.
    mutating func setCalm(_ isCalm: Bool, _ holder: ObjectIdentifier) {
        if isCalm { restless.remove(holder) } else { restless.insert(holder) }
    }

    /// Records that the loop has looked at its sockets.
    ///
    /// - Parameter ready: Number of sockets that were ready.
    mutating func looked(_ ready: Int, at now: Int64) {
        readAt = ready > 0 ? now : nil
        events = events.saturatingSum(ready)
        let elapsed = now - (begun ?? now)
        if begun == nil { begun = now }
        guard elapsed >= Self.period, quantum > 0 else { return }
        // In quanta, packets of one socket that come shortly after each other are one event.
        let perQuantum = Double(events) * Double(quantum) / Double(elapsed)
        isWorthwhile = perQuantum > (isWorthwhile ? 1.5 : 2.5)
        (begun, events) = (now, 0)
    }

    /// Returns the time for which the loop leaves its sockets alone; 0 means that it waits for them as usual.
    ///
    /// A read that found nothing is followed by a usual wait, so that a loop without packets sleeps.
    func rest(at now: Int64) -> Int64 {
        guard quantum > 0, isWorthwhile, restless.isEmpty, let readAt else { return 0 }
        return min(max(0, readAt + quantum - now), quantum)
    }
}
