import Foundation
import TestSupport
import Testing

@testable import TextFormats

@Suite struct TimestampTests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("2026-01-31T12:00:00Z", 1_769_860_800),
        ("2026-01-31T12:00:00.5Z", 1_769_860_800.5),
        ("2026-01-31t12:00:00z", 1_769_860_800), ("2026-01-31T13:00:00+01:00", 1_769_860_800),
        ("2026-01-31T06:30:00-05:30", 1_769_860_800), ("2026-01-31T12:00:00-00:00", 1_769_860_800),
        ("2000-02-29T00:00:00Z", 951_782_400), ("0000-01-01T00:00:00Z", -62_167_219_200),
        ("9999-12-31T23:59:59Z", 253_402_300_799), ("1969-12-31T23:59:59.25Z", -0.75),
        // The leap second of 1990 (RFC 3339 §5.8).
        ("1990-12-31T23:59:60Z", 662_688_000), ("1970-01-01T00:00:00.123456789987Z", 0.123456789),
    ])
    func whatTheStandardAllowsIsRead(text: String, seconds: Double) {
        #expect(Timestamp.seconds(text) == seconds)
    }

    @Test(arguments: [
        "", "Z", "2026-01-31", "2026-01-31T12:00:00", "2026-01-31T12:00Z", "2026-01-31 12:00:00Z", "20260131T120000Z",
        "2026-1-31T12:00:00Z", "2026-00-01T12:00:00Z", "2026-13-01T12:00:00Z", "2026-01-00T12:00:00Z",
        "2026-01-32T12:00:00Z", "2026-02-29T12:00:00Z", "1900-02-29T12:00:00Z", "2026-04-31T12:00:00Z",
        "2026-01-31T24:00:00Z", "2026-01-31T12:60:00Z", "2026-01-31T12:00:61Z", "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00,5Z", "2026-01-31T12:00:00+0100", "2026-01-31T12:00:00+01", "2026-01-31T12:00:00+24:00",
        "2026-01-31T12:00:00+01:60", "2026-01-31T12:00:00Zx", " 2026-01-31T12:00:00Z", "+2026-01-31T12:00:00Z",
        "12026-01-31T12:00:00Z", "２026-01-31T12:00:00Z", "1769860800",
    ])
    func everythingElseIsNot(text: String) {
        #expect(Timestamp.seconds(text) == nil)
    }

    /// Times outside the years that RFC 3339 can write are refused, even if only an offset moves them there.
    @Test(arguments: [
        "0000-01-01T00:00:00+00:01", "0000-01-01T22:59:59+23:00", "9999-12-31T23:59:59-00:01",
        "9999-12-31T23:59:60Z", "9999-12-31T23:59:59.999999999Z",
    ])
    func nothingLeavesTheYears0000To9999(text: String) {
        #expect(Timestamp.seconds(text) == nil)
    }

    @Test(arguments: ["0000-01-01T00:00:00-23:59", "9999-12-31T23:59:59+23:59", "9999-12-31T23:59:59.5Z"])
    func theirEndsAreRead(text: String) {
        #expect(Timestamp.seconds(text).map(Timestamp.range.contains) == true)
    }

    /// Dates start after the introduction of the Gregorian calendar: for earlier days Foundation uses the Julian one,
    /// and RFC 3339 does not.
    @Test func whatFoundationWritesIsReadAsTheSameTime() {
        var generator = SeededGenerator(seed: 0x3339)
        for _ in 0..<2000 {
            let date = Date(
                timeIntervalSince1970: Double(Int.random(in: -12_000_000_000...253_000_000_000, using: &generator)))
            let text = date.formatted(.iso8601)
            #expect(Timestamp.seconds(text) == date.timeIntervalSince1970, "\(text)")
        }
    }
}
