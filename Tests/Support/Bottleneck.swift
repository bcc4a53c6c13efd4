/// A link of limited rate with a bounded queue: a token bucket. Pure; times are in ns of any clock.
///
/// A packet passes at once if the bucket has enough tokens. Otherwise it waits until there are enough, behind the packets
/// before it. A packet that would wait too long is dropped (drop-tail).
public struct Bottleneck: Sendable {
    /// Rate at which the bucket fills, in bit/s; more than 0.
    public let bitRate: Int
    /// Longest time that a packet waits, in ns.
    public let longestWait: Int64
    /// Capacity of the bucket in bytes: packets of this size in all pass at once after a pause.
    public let burst: Int
    /// Time at which the bucket is full.
    private var fullAt = Int64.min

    /// - Parameters:
    ///   - longestWait: In ns; by default 200 ms, as in the router of a household.
    ///   - burst: In bytes; by default a packet of the largest size in Ethernet.
    public init(bitRate: Int, longestWait: Int64 = 200_000_000, burst: Int = 1500) {
        self.bitRate = max(bitRate, 1)
        self.longestWait = longestWait
        self.burst = burst
    }

    /// Returns the time at which a packet leaves the link; `nil` if it is dropped.
    ///
    /// - Parameters:
    ///   - bytes: Size of the packet.
    ///   - now: Time of its arrival, not before that of the previous packet.
    public mutating func take(_ bytes: Int, now: Int64) -> Int64? {
        let full = max(fullAt, now) + time(for: bytes)
        let departure = max(now, full - time(for: burst))
        guard departure - now <= longestWait else { return nil }
        fullAt = full
        return departure
    }

    private func time(for bytes: Int) -> Int64 { Int64(bytes) * 8_000_000_000 / Int64(bitRate) }
}
