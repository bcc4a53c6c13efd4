import Foundation
import Synchronization

/// The clock of plans and deadlines: CLOCK_MONOTONIC, shared by all processes of a machine.
enum MonotonicClock {
    /// Returns the time in ns.
    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Sleeps until `deadline`, in ns of this clock. Returns at once when the deadline has passed.
    static func sleep(until deadline: Int64) async throws {
        let left = deadline - now()
        // SuspendingClock is CLOCK_MONOTONIC on Linux.
        if left > 0 { try await Task.sleep(for: .nanoseconds(left), clock: .suspending) }
    }
}

/// Returns the wall-clock time in seconds since 1970, for people.
func wallClock() -> Double { Date().timeIntervalSince1970 }

/// Counts the turns in which the other side sent nothing.
final class Silence: Sendable {
    private let turns = Mutex(0)

    func end() { turns.withLock { $0 = 0 } }

    /// - Returns: The number of turns before this one.
    func add() -> Int {
        turns.withLock { turns in
            defer { turns += 1 }
            return turns
        }
    }
}
