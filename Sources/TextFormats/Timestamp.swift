/// Reads points in time in the format of RFC 3339 §5.6: `2026-01-31T12:00:00.5Z`, `2026-01-31T13:00:00+01:00`.
///
/// Strict: no part may be missing, and no other form of ISO 8601 is accepted. `t` and `z` may be lower case. A leap
/// second is read as the second after it. A time whose offset moves it out of the years 0000 to 9999 (in UTC) is
/// refused, because it could not be written again.
public enum Timestamp {
    /// Range of the times that RFC 3339 can express, in seconds since 1970.
    package static let range = -62_167_219_200.0..<253_402_300_800
    /// Parses a point in time.
    ///
    /// - Returns: Seconds since 1970, without leap seconds; `nil` when the text is not in this format. At most nine
    ///   digits of a fraction count.
    public static func seconds(_ text: String) -> Double? {
        var text = text
        return text.withUTF8 { bytes in
            var reader = Reader(bytes: bytes)
            return reader.seconds().flatMap { range.contains($0) ? $0 : nil }
        }
    }

    private struct Reader {
        let bytes: UnsafeBufferPointer<UInt8>
        var position = 0

        mutating func seconds() -> Double? {
            guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2),
                1...12 ~= month, 1...Self.days(of: month, year) ~= day,
                take("T") || take("t"), let hour = number(2), take(":"), let minute = number(2), take(":"),
                let second = number(2), hour < 24, minute < 60, second <= 60,
                let fraction = fraction(), let offset = offset(), position == bytes.count
            else { return nil }
            let time = Self.daysSince1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
            return Double(time - offset) + fraction
        }

        /// Reads the offset from UTC, in seconds; positive to the east.
        private mutating func offset() -> Int? {
            if take("Z") || take("z") { return 0 }
            let isWest = take("-")
            guard isWest || take("+"), let hour = number(2), take(":"), let minute = number(2), hour < 24, minute < 60
            else { return nil }
            return (hour * 3600 + minute * 60) * (isWest ? -1 : 1)
        }

        private mutating func fraction() -> Double? {
            guard take(".") else { return 0 }
            let start = position
            var value = 0
            var unit = 1
            while let digit = digit() {
                guard position - start <= 9 else { continue }
                value = value * 10 + digit
                unit *= 10
            }
            return position > start ? Double(value) / Double(unit) : nil
        }

        private mutating func number(_ count: Int) -> Int? {
            var value = 0
            for _ in 0..<count {
                guard let digit = digit() else { return nil }
                value = value * 10 + digit
            }
            return value
        }

        private mutating func digit() -> Int? {
            guard position < bytes.count, case let digit = bytes[position] &- UInt8(ascii: "0"), digit <= 9 else {
                return nil
            }
            position += 1
            return Int(digit)
        }

        private mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        private static func days(of month: Int, _ year: Int) -> Int {
            switch month {
            case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
            case 4, 6, 9, 11: 30
            default: 31
            }
        }

        /// Returns the days since 1970 of a date in the proleptic Gregorian calendar. Its years begin in March, so that
        /// the leap day is the last one.
        private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
            let year = month > 2 ? year : year - 1
            let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
            // Adding 400 years keeps the divisions for the year 0 from becoming negative.
            let years = year + 400
            let days = years * 365 + years / 4 - years / 100 + years / 400 + dayOfYear
            return days - 719_468 - 146_097
        }
    }
}
