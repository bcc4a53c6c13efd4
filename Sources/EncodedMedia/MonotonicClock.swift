import Foundation

/// CLOCK_MONOTONIC, which all processes of a machine share: the clock of plans, deadlines and program time.
package enum MonotonicClock {
    /// Returns the time in ns.
    package static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Sleeps until `deadline`, in ns of this clock. Returns at once when the deadline has passed.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    package static func sleep(until deadline: Int64) async throws {
        let left = deadline - now()
        // SuspendingClock is CLOCK_MONOTONIC on Linux.
        if left > 0 { try await Task.sleep(for: .nanoseconds(left), clock: .suspending) }
    }
}
