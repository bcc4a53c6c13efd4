import Foundation

extension HTTPResponse {
    /// Time for which the resource has not changed, by the server's own clock, in seconds; `nil` if the server does not
    /// report it.
    var secondsUnchanged: Double? {
        guard let sent = field("date").flatMap(Self.seconds), let changed = field("last-modified").flatMap(Self.seconds)
        else { return nil }
        // A cache repeats the origin's date and reports the age of the response.
        let age = field("age").flatMap { Double($0) }.map { min(max(0, $0), 1e9) } ?? 0
        return Double(sent - changed) + age
    }

    /// Parses a date in the form that servers must send (RFC 9110 §5.6.7).
    ///
    /// - Returns: Seconds since 1970; `nil` if it is not such a date.
    private static func seconds(_ date: String) -> Int64? {
        // As in "Sun, 06 Nov 1994 08:49:37 GMT".
        let words = date.split(separator: " ")
        guard words.count == 6, words[0].hasSuffix(","), words[5] == "GMT", let month = months.firstIndex(of: words[2]),
            let day = Int32(words[1]), 1...31 ~= day, let year = Int32(words[3]), 1970...9999 ~= year
        else { return nil }
        let clock = words[4].split(separator: ":").compactMap { Int32($0) }
        guard clock.count == 3, 0...23 ~= clock[0], 0...59 ~= clock[1], 0...60 ~= clock[2] else { return nil }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, Int32(month), day)
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (clock[0], clock[1], clock[2])
        return Int64(timegm(&parts))
    }

    private static let months: [Substring] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
