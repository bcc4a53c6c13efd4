import Foundation
import LayoutEngine
import TestSupport
import Testing

struct GraphicClockTests {
    private static func text(_ time: Int, _ utcOffset: Int = 0) -> String {
        Overlay.ClockFormat.dateAndTime.text(time: time, utcOffset: utcOffset)
    }

    @Test(arguments: [
        (0, 0, "1970-01-01 00:00:00"), (-1, 0, "1969-12-31 23:59:59"), (951_782_399, 0, "2000-02-28 23:59:59"),
        (951_782_400, 0, "2000-02-29 00:00:00"), (951_868_800, 0, "2000-03-01 00:00:00"),
        (1_709_164_800, 0, "2024-02-29 00:00:00"), (1_740_700_799, 0, "2025-02-27 23:59:59"),
        (1_740_787_200, 0, "2025-03-01 00:00:00"), (4_107_542_399, 0, "2100-02-28 23:59:59"),
        (4_107_542_400, 0, "2100-03-01 00:00:00"), (-2_203_891_200, 0, "1900-03-01 00:00:00"),
        (-62_167_219_200, 0, "0000-01-01 00:00:00"), (253_402_300_799, 0, "9999-12-31 23:59:59"),
        (1_735_689_599, 840, "2025-01-01 13:59:59"), (1_735_689_600, -840, "2024-12-31 10:00:00"),
        (0, 330, "1970-01-01 05:30:00"), (0, -1, "1969-12-31 23:59:00"),
        // Values outside the limits give the nearest one inside.
        (Int.max, 0, "9999-12-31 23:59:59"), (Int.min, 0, "0000-01-01 00:00:00"), (Int.max, 840, "9999-12-31 23:59:59"),
        (Int.min, -840, "0000-01-01 00:00:00"), (0, Int.max, "1970-01-01 14:00:00"),
        (0, Int.min, "1969-12-31 10:00:00"),
    ])
    func knownMoments(time: Int, utcOffset: Int, expected: String) {
        #expect(Self.text(time, utcOffset) == expected)
    }

    @Test func formatsShowTheirParts() {
        let time = 1_735_734_896
        #expect(Overlay.ClockFormat.time.text(time: time, utcOffset: 60) == "13:34:56")
        #expect(Overlay.ClockFormat.minutes.text(time: time, utcOffset: -60) == "11:34")
        #expect(Overlay.ClockFormat.date.text(time: time, utcOffset: 0) == "2025-01-01")
        #expect(Overlay.ClockFormat.dateAndTime.text(time: time, utcOffset: 0) == "2025-01-01 12:34:56")
    }

    @Test func agreesWithFoundationsCalendar() {
        let formatter = DateFormatter()
        formatter.calendar = Calendar(identifier: .gregorian)
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
        for seed in UInt64(1)...200 {
            var random = SeededGenerator(seed: seed)
            // The range starts here because Foundation changes to the Julian calendar before October 1582.
            let time = Int.random(in: -12_000_000_000...250_000_000_000, using: &random)
            let offset = Int.random(in: -840...840, using: &random)
            formatter.timeZone = TimeZone(secondsFromGMT: offset * 60)
            let expected = formatter.string(from: Date(timeIntervalSince1970: Double(time)))
            #expect(Self.text(time, offset) == expected, "seed \(seed)")
        }
    }
}
