/// The facts about a task's relay that outlast its program: they are kept, and stored, until the next program starts.
struct RelayRecord: Hashable, Sendable {
    /// Number of consecutive starts that failed or ended early, from 0.
    var failures = 0
    /// Time at which the relay was last connected, in nanoseconds of CLOCK_MONOTONIC; `nil` since it was lost, or
    /// before it was connected.
    var connectedAt: Int64?
    /// Causes for which the relay was launched, or told to end; `nil` if they are not known.
    var causes: [CauseID]?

    /// Resets times and failures after a restart of the orchestrator.
    mutating func restart() {
        failures = 0
        connectedAt = nil
    }
}
