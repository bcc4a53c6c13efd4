import Foundation

/// A point in time, formatted in UTC for file names.
struct UTCTime {
    private var parts = tm()

    /// Creates a point in time.
    /// - Parameter seconds: Seconds since 1970.
    init(_ seconds: Double) {
        // Bounded by the end of the year 9999, the last that fits into the name.
        var time = time_t(saturating: seconds.boundedSeconds)
        gmtime_r(&time, &parts)
    }

    /// The time as `20260131T235959Z`, which sorts by time.
    var compact: String {
        func digits(_ value: Int32, _ count: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(count - text.count, 0)) + text
        }
        return digits(parts.tm_year + 1900, 4) + digits(parts.tm_mon + 1, 2) + digits(parts.tm_mday, 2) + "T"
            + digits(parts.tm_hour, 2) + digits(parts.tm_min, 2) + digits(parts.tm_sec, 2) + "Z"
    }
}
