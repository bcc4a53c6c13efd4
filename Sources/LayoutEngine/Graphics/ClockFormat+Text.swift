extension Overlay.ClockFormat {
    /// Returns the text of the clock, in the proleptic Gregorian calendar.
    ///
    /// - Parameters:
    ///   - time: Seconds since 1970-01-01T00:00:00Z. A time outside the years 0 to 9999 shows the nearest second inside
    ///     them.
    ///   - utcOffset: Minutes east of UTC, limited to −840…840.
    public func text(time: Int, utcOffset: Int) -> String {
        let offset = min(max(utcOffset, -840), 840) * 60
        let local = min(max(time, Self.first - offset), Self.last - offset) + offset
        let day = local >= 0 ? local / 86_400 : (local - 86_399) / 86_400
        let second = local - day * 86_400
        let minutes = "\(Self.digits(second / 3600)):\(Self.digits(second / 60 % 60))"
        let date = Self.date(day)
        return switch self {
        case .time: "\(minutes):\(Self.digits(second % 60))"
        case .minutes: minutes
        case .date: date
        case .dateAndTime: "\(date) \(minutes):\(Self.digits(second % 60))"
        }
    }

    /// 0000-01-01T00:00:00 and, as `last`, 9999-12-31T23:59:59, in seconds since 1970.
    private static let first = -62_167_219_200
    private static let last = 253_402_300_799

    /// Converts days since 1970-01-01 into a date. Years are counted from March, so that the leap day is their last
    /// one, and 400 of them have 146 097 days.
    private static func date(_ day: Int) -> String {
        // 719 468 days lie between 0000-03-01 and 1970-01-01. Only January and February of the year 0 are earlier.
        let shifted = day + 719_468 + 146_097
        let (era, dayOfEra) = shifted.quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let march = (5 * dayOfYear + 2) / 153
        let month = march < 10 ? march + 3 : march - 9
        let year = yearOfEra + (era - 1) * 400 + (month <= 2 ? 1 : 0)
        return "\(digits(year, 4))-\(digits(month))-\(digits(dayOfYear - (153 * march + 2) / 5 + 1))"
    }

    private static func digits(_ number: Int, _ count: Int = 2) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(count - text.utf8.count, 0)) + text
    }
}
