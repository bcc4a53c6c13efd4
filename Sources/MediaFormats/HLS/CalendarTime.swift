/// A time in the form used in playlists: ISO 8601 in UTC with milliseconds.
struct CalendarTime: Hashable, Sendable, CustomStringConvertible {
    /// Time since 1970 in ms.
    let milliseconds: Int64

    /// End of the year 9999, up to which all times have the same width.
    static let latest: Int64 = 253_402_300_799_999

    var description: String {
        let (day, inDay) = Self.divide(milliseconds, by: 86_400_000)
        // Civil date from days: years begin in March, eras of 400 years have 146 097 days.
        let (era, dayOfEra) = Self.divide(day + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let date = "\(year)-\(Self.padded(month, 2))-\(Self.padded(dayOfYear - (153 * shifted + 2) / 5 + 1, 2))"
        let time =
            "\(Self.padded(inDay / 3_600_000, 2)):\(Self.padded(inDay / 60_000 % 60, 2)):"
            + "\(Self.padded(inDay / 1000 % 60, 2)).\(Self.padded(inDay % 1000, 3))"
        return "\(date)T\(time)Z"
    }

    /// Divides and rounds towards minus infinity.
    private static func divide(_ value: Int64, by divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    private static func padded(_ value: Int64, _ digits: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
