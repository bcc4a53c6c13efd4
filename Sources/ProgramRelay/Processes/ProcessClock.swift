import Foundation

/// The CPU time that a process has used.
enum ProcessClock {
    /// The CPU time of this process in seconds.
    static var own: Double { seconds(of: getpid()) ?? 0 }

    /// Returns the CPU time of all threads together, including ended ones, in seconds; `nil` if there is no such
    /// process (any more).
    static func seconds(of processID: Int32) -> Double? {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(processID, &clock) == 0, clock_gettime(clock, &time) == 0 else { return nil }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
