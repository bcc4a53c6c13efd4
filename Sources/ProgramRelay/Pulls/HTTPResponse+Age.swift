import Foundation

extension HTTPResponse {
    /// Time for which the resource has not changed, by the server's own clock, in seconds; `nil` if the server does not say.
    var secondsUnchanged: Double? {
        guard let sent = field("date").flatMap(Self.seconds), let changed = field("last-modified").flatMap(Self.seconds)
        else { return nil }
        // A cache repeats the origin's date and says how old the response is.
        let age = field("age").flatMap { Double($0) }.map { min(max(0, $0), 1e9) } ?? 0
        return Double(sent - changed) + age
    }

    /// Reads a date in the form that servers have to send (RFC 9110 §5.6.7).
    ///
    /// - Returns: Seconds since 1970; `nil` if it is no such date.
    private static func seconds(_ date: String) -> Int64? {
        var parts = tm()
        guard strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &parts) != nil, 0...8100 ~= parts.tm_year else { return nil }
        return Int64(timegm(&parts))
    }
}
