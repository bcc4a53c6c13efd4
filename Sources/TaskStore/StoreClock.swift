import Foundation

/// The clock that a store judges leases, retention and due messages by; tests put their own in its place.
public struct StoreClock: Sendable {
    /// Seconds since 1970.
    public var now: @Sendable () -> Double

    public init(now: @escaping @Sendable () -> Double) { self.now = now }

    public static let system = StoreClock { Date().timeIntervalSince1970 }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
