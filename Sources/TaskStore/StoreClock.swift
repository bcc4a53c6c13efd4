import Foundation

/// The clock that a store uses for leases, retention and due messages. Tests replace it with their own.
public struct StoreClock: Sendable {
    /// Returns the time in seconds since 1970.
    public var now: @Sendable () -> Double

    public init(now: @escaping @Sendable () -> Double) { self.now = now }

    public static let system = StoreClock { Date().timeIntervalSince1970 }
}

extension Duration {
    package var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
