import Foundation

/// The time of a signature, in the two forms that Signature Version 4 uses.
package struct SigningTime: Hashable, Sendable {
    /// Day in UTC, as in `20130524`.
    package let day: String
    /// Second in UTC, as in `20130524T000000Z`.
    package let text: String

    /// - Parameter seconds: Time in seconds since 1970.
    package init(seconds: Double) {
        var time = time_t(max(0, min(seconds, 253_402_300_799)))
        var parts = tm()
        gmtime_r(&time, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        day = "\(parts.tm_year + 1900)\(two(parts.tm_mon + 1))\(two(parts.tm_mday))"
        text = "\(day)T\(two(parts.tm_hour))\(two(parts.tm_min))\(two(parts.tm_sec))Z"
    }
}
