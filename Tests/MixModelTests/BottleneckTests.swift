import TestSupport
import Testing

/// The narrow link of the tests on real networks. At 500 kbit/s, 1250 bytes take 20 ms, and the bucket holds 24 ms.
struct BottleneckTests {
    private static let millisecond: Int64 = 1_000_000

    @Test func packetsLeaveOneAfterAnother() {
        var link = Bottleneck(bitRate: 500_000)
        let departures = (0..<4).map { _ in link.take(1250, now: 0).map { $0 / Self.millisecond } }
        #expect(departures == [0, 16, 36, 56])
        // The packets before it have left.
        #expect(link.take(1250, now: 500 * Self.millisecond) == 500 * Self.millisecond)
    }

    @Test func aFullQueueDropsThePacketThatComesLast() {
        var link = Bottleneck(bitRate: 500_000, longestWait: 200 * Self.millisecond)
        let departures = (0..<20).map { _ in link.take(1250, now: 0) }
        #expect(departures.prefix(11).compactMap(\.self).count == 11)
        #expect(departures[10] == 196 * Self.millisecond)
        #expect(departures.dropFirst(11).allSatisfy { $0 == nil })
        // A smaller one still fits; dropped ones have taken no time of the link.
        #expect(link.take(250, now: 0) == 200 * Self.millisecond)
        #expect(link.take(1250, now: 19 * Self.millisecond) == nil)
        #expect(link.take(1250, now: 20 * Self.millisecond) == 220 * Self.millisecond)
    }

    @Test func anIdleLinkSavesNoMoreThanItsBurst() {
        var link = Bottleneck(bitRate: 500_000, burst: 2500)
        _ = link.take(1250, now: 0)
        let later = 3_600_000 * Self.millisecond
        let waits = (0..<4).map { _ in link.take(1250, now: later).map { ($0 - later) / Self.millisecond } }
        #expect(waits == [0, 0, 20, 40])
    }

    @Test func aPacketLargerThanTheBucketWaitsForTheRest() {
        var link = Bottleneck(bitRate: 500_000, burst: 500)
        #expect(link.take(1250, now: 0) == 12 * Self.millisecond)
    }

    /// In no time does more leave than the rate and the burst allow, in order, and no packet waits too long.
    @Test func theRateIsKept() throws {
        var random = SeededGenerator(announcedFor: "theRateIsKept")
        for _ in 0..<20 {
            let rate = Int.random(in: 100_000...3_000_000, using: &random)
            let wait = Int64.random(in: 0...400, using: &random) * Self.millisecond
            var link = Bottleneck(bitRate: rate, longestWait: wait)
            var now: Int64 = 0
            var left: [(at: Int64, bytes: Int)] = []
            for _ in 0..<200 {
                now += Int64.random(in: 0...8, using: &random) * Self.millisecond
                let bytes = Int.random(in: 40...1500, using: &random)
                guard let departure = link.take(bytes, now: now) else { continue }
                #expect(now...now + wait ~= departure)
                #expect(departure >= left.last?.at ?? 0)
                left.append((departure, bytes))
            }
            try #require(!left.isEmpty)
            for first in left.indices {
                var bytes = 0
                let isKept = left[first...].allSatisfy { packet in
                    bytes += packet.bytes
                    let most = 1500 + Double(packet.at - left[first].at) * Double(rate) / 8e9
                    // Times are rounded down to whole ns.
                    return Double(bytes) <= most + 1
                }
                #expect(isKept, "seed \(random.seed)")
            }
        }
    }
}
