/// The launches of a program's relay: their failures, and the time of the next one. Pure; all times are in nanoseconds
/// of CLOCK_MONOTONIC.
struct RelayLaunches: Hashable, Sendable {
    var record: RelayRecord
    /// Last failure of the relay; `nil` while it is connected, or before the first failure.
    private(set) var lastError: String?
    /// Number of the deadline of the next launch; `nil` if none is awaited. A relay may connect before it is due.
    var deadline: Int?

    /// Time for which a relay must last before the back-off starts again with the shortest delay. In nanoseconds. A
    /// source is on probation for as long (`SourceQuarantine`), so a source that ends relays is found by then.
    static let stableAfter: Int64 = 10_000_000_000

    /// Delays before the next start: after the first failure, after the second, and at most. In nanoseconds.
    ///
    /// A program is off the air for the duration of the delay, so the longest delay is no longer than that of other
    /// workers. It limits relays that always end at once to 12 starts a minute each.
    private static let delays = (first: Int64(50_000_000), second: Int64(500_000_000), longest: Int64(5_000_000_000))

    init(_ record: RelayRecord, lastError: String? = nil, deadline: Int? = nil) {
        self.record = record
        self.lastError = lastError
        self.deadline = deadline
    }

    /// Records that the relay is connected.
    mutating func connected(at now: Int64) {
        lastError = nil
        record.connectedAt = now
    }

    /// Records that the relay is lost.
    ///
    /// - Parameter origin: Identifier of the cause of the consequences.
    /// - Returns: The delay before the next launch, in nanoseconds, and whether the reason differs from the previous
    ///   one.
    mutating func lost(_ reason: String, at now: Int64, origin: CauseID?) -> (delay: Int64, isNews: Bool) {
        if let start = record.connectedAt, now - start >= Self.stableAfter { record.failures = 0 }
        record.connectedAt = nil
        let delay = Self.backOff(after: record.failures)
        record.failures += 1
        // A repeated reason (no binary, no permission) is recorded once; `lastError` keeps it.
        let isNews = reason != lastError
        lastError = reason
        if isNews { record.causes = origin.map { [$0] } }
        return (delay, isNews)
    }

    /// Starts again after a restart of the orchestrator. The last failure stays until a relay is connected.
    mutating func restart(origin: CauseID?) {
        record.restart()
        record.causes = origin.map { [$0] }
        deadline = nil
    }

    /// Returns the delay before start number `failures + 1`, in nanoseconds: 50 ms at first, then 0.5 s doubling to 5 s.
    static func backOff(after failures: Int) -> Int64 {
        failures == 0 ? delays.first : min(delays.second << Int64(min(failures - 1, 6)), delays.longest)
    }
}
