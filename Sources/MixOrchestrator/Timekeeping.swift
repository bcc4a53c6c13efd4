import Foundation
import Synchronization

/// The clock that plans and deadlines are written in: CLOCK_MONOTONIC, shared by all processes of a machine.
enum MonotonicClock {
    /// In ns.
    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Returns at `deadline` (ns of this clock), at once when it is over.
    static func sleep(until deadline: Int64) async throws {
        let left = deadline - now()
        // SuspendingClock is CLOCK_MONOTONIC on Linux.
        if left > 0 { try await Task.sleep(for: .nanoseconds(left), clock: .suspending) }
    }
}

/// Seconds since 1970, for people.
func wallClock() -> Double { Date().timeIntervalSince1970 }

/// Counts the seconds since something was heard of the other side.
final class Silence: Sendable {
    private let seconds = Mutex(0)

    func end() { seconds.withLock { $0 = 0 } }

    /// - Returns: The seconds so far, before this one.
    func add() -> Int {
        seconds.withLock { seconds in
            defer { seconds += 1 }
            return seconds
        }
    }
}
