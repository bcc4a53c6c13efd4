/// A point or a length of time on a media timeline, in nanoseconds.
///
/// On a program's timeline 0 is the start of the task, and the timeline advances with CLOCK_MONOTONIC. Arithmetic
/// saturates at the ends of the range, ±292 years: untrusted streams may claim any time, and none may cause a trap.
public struct MediaTime: Hashable, Comparable, Codable, Sendable {
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    public static let zero = MediaTime(nanoseconds: 0)

    public static func milliseconds(_ value: some BinaryInteger) -> MediaTime {
        MediaTime(nanoseconds: Int64(clamping: value).saturatingProduct(1_000_000))
    }

    /// Returns a time rounded to the nearest nanosecond; NaN becomes 0.
    public static func seconds(_ value: Double) -> MediaTime {
        MediaTime(nanoseconds: Int64(saturating: (value * 1e9).rounded()))
    }

    /// Returns the time of unit `index` at `rate` units per second, rounded to the nearest nanosecond. Exact over any
    /// length because nothing is accumulated. A rate below 1 counts as 1.
    public static func units(_ index: Int64, rate: Int) -> MediaTime {
        let rate = max(rate, 1)
        let (whole, part) = index.quotientAndRemainder(dividingBy: Int64(rate))
        let nanoseconds = (Double(part) * 1e9 / Double(rate)).rounded()
        return MediaTime(nanoseconds: whole.saturatingProduct(1_000_000_000).saturatingSum(Int64(nanoseconds)))
    }

    /// Returns the number of units at `rate` units per second, rounded to the nearest.
    public func units(rate: Int) -> Int64 {
        let (whole, part) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        let rest = Int64(saturating: (Double(part) * Double(rate) / 1e9).rounded())
        return whole.saturatingProduct(Int64(rate)).saturatingSum(rest)
    }

    public var inSeconds: Double { Double(nanoseconds) / 1e9 }
    public var inMilliseconds: Double { Double(nanoseconds) / 1e6 }

    /// Whole milliseconds, rounded to the nearest, as in FLV and RTMP.
    public var roundedMilliseconds: Int64 {
        let half: Int64 = nanoseconds < 0 ? -500_000 : 500_000
        return nanoseconds.saturatingSum(half) / 1_000_000
    }

    /// The nearest whole millisecond.
    public var rounded: MediaTime { .milliseconds(roundedMilliseconds) }

    public var magnitude: MediaTime { nanoseconds < 0 ? -self : self }

    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }
    public static func + (left: Self, right: Self) -> Self {
        MediaTime(nanoseconds: left.nanoseconds.saturatingSum(right.nanoseconds))
    }
    public static func - (left: Self, right: Self) -> Self {
        MediaTime(nanoseconds: left.nanoseconds.saturatingDifference(right.nanoseconds))
    }
    public static prefix func - (value: Self) -> Self { .zero - value }
    public static func += (left: inout Self, right: Self) { left = left + right }
    public static func -= (left: inout Self, right: Self) { left = left - right }
    public static func * (left: Self, right: Int64) -> Self {
        MediaTime(nanoseconds: left.nanoseconds.saturatingProduct(right))
    }
    /// Returns the quotient, or `left` unchanged if `right` is 0.
    public static func / (left: Self, right: Int64) -> Self {
        right == -1 ? -left : MediaTime(nanoseconds: left.nanoseconds.dividedReportingOverflow(by: right).partialValue)
    }

    public init(from decoder: any Decoder) throws {
        nanoseconds = try decoder.singleValueContainer().decode(Int64.self)
    }
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(nanoseconds)
    }
}

extension MediaTime: CustomStringConvertible {
    public var description: String { "\(inMilliseconds) ms" }
}
