import Foundation

/// The processor time of the calling thread.
enum ThreadClock {
    /// Returns the time in ns. Times of different threads cannot be compared.
    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
