extension FixedWidthInteger where Self: SignedInteger {
    /// The value limited to 0…2⁵³, so that several counts can be added up and a `Double` represents each exactly.
    public var boundedCount: Self { Self(clamping: Swift.min(Swift.max(Int64(clamping: self), 0), 1 << 53)) }
}

extension Double {
    /// Seconds, including seconds since 1970, limited to the time from 0 to the end of the year 9999. NaN becomes 0.
    public var boundedSeconds: Double { isNaN ? 0 : Swift.min(Swift.max(self, 0), 253_402_300_799) }

    /// Milliseconds, limited to ±10¹². NaN becomes 0.
    public var boundedMilliseconds: Double { isNaN ? 0 : Swift.min(Swift.max(self, -1e12), 1e12) }
}
