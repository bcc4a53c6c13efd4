/// A share of a length, 0…1, stored in millionths.
///
/// Integers make geometry exact: `0.1 + 0.2` is the same edge as `0.3`, so panes that touch in a template also touch in
/// pixels, on every machine.
public struct UnitFraction: Hashable, Comparable, Sendable {
    /// The share in millionths, 0…1 000 000.
    public let millionths: Int

    static let one = 1_000_000

    /// Creates a share, rounded to the nearest millionth. Values outside 0…1 become the nearest limit, and NaN becomes
    /// 0.
    public init(_ value: Double) {
        guard value > 0 else {
            millionths = 0
            return
        }
        millionths = value >= 1 ? Self.one : Int((value * Double(Self.one)).rounded())
    }

    /// Creates a share from millionths. Values outside 0…1 000 000 become the nearest limit.
    init(millionths: Int) { self.millionths = min(max(millionths, 0), Self.one) }

    public var value: Double { Double(millionths) / Double(Self.one) }

    public static let zero = UnitFraction(0)
    public static let whole = UnitFraction(1)

    public static func < (left: Self, right: Self) -> Bool { left.millionths < right.millionths }

    /// Returns this share of `length` pixels as the nearest even number of pixels.
    func evenPixels(of length: Int) -> Int { Self.evenPixels(millionths: millionths, of: length) }

    /// Returns this share of `length` pixels as the nearest whole number of pixels.
    func pixels(of length: Int) -> Int { (millionths * length * 2 + Self.one) / (2 * Self.one) }

    /// Returns a share of `length` pixels as the nearest even number of pixels. The result is monotonic in
    /// `millionths`, so edges keep their order when they become pixels.
    static func evenPixels(millionths: Int, of length: Int) -> Int {
        (millionths * length + one) / (2 * one) * 2
    }
}

extension UnitFraction: Codable {
    /// Decodes a number. Values outside 0…1 become the nearest limit.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(Double.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}
