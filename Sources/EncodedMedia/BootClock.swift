import Foundation

/// CLOCK_BOOTTIME, which continues while the machine sleeps: the clock of deadlines after which an action must not
/// happen.
package enum BootClock {
    /// Returns the time in ns.
    package static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
