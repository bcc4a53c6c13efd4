import Testing

@testable import MixModel

@Suite struct RelayLaunchesTests {
    @Test func delaysGrowUntilARelayLasts() {
        var launches = RelayLaunches(RelayRecord())
        let delays = (0..<9).map { launches.lost("no binary", at: $0, origin: nil).delay / 1_000_000 }
        #expect(delays == [50, 500, 1000, 2000, 4000, 5000, 5000, 5000, 5000])
        launches.connected(at: 0)
        #expect(launches.lost("killed", at: RelayLaunches.stableAfter - 1, origin: nil).delay == 5_000_000_000)
        launches.connected(at: 0)
        #expect(launches.lost("killed", at: RelayLaunches.stableAfter, origin: nil).delay == 50_000_000)
        #expect(launches.record.failures == 1)
    }

    /// For an hour, the relays of a program end after a while. The program is never away for longer than five seconds,
    /// and hardly ever if its relays last.
    @Test(arguments: [(life: 0, starts: 715...730), (3, 440...460), (9, 250...260), (10, 355...360), (20, 175...180)])
    func programsAreAwayForSecondsHoweverOftenTheirRelaysEnd(life: Int64, starts: ClosedRange<Int>) {
        var launches = RelayLaunches(RelayRecord())
        var (now, count, longest): (Int64, Int, Int64) = (0, 0, 0)
        while now < 3_600_000_000_000 {
            launches.connected(at: now)
            count += 1
            now += life * 1_000_000_000
            let delay = launches.lost("killed", at: now, origin: nil).delay
            longest = max(longest, delay)
            now += delay
        }
        #expect(starts.contains(count), "\(count) starts")
        #expect(longest == (life < 10 ? 5_000_000_000 : 50_000_000))
    }

    @Test func aRepeatedReasonIsNoNewsAndKeepsItsCause() {
        var launches = RelayLaunches(RelayRecord(causes: ["start"]))
        let first = launches.lost("no binary", at: 0, origin: "c1")
        let second = launches.lost("no binary", at: 1, origin: "c2")
        #expect(first.isNews && !second.isNews)
        #expect(launches.record.causes == ["c1"])
        let third = launches.lost("no permission", at: 2, origin: "c3")
        #expect(third.isNews && launches.record.causes == ["c3"] && launches.lastError == "no permission")
        launches.connected(at: 3)
        #expect(launches.lastError == nil && launches.record.connectedAt == 3)
    }

    @Test func aRestartForgetsTimesAndKeepsTheFailure() {
        var launches = RelayLaunches(RelayRecord(connectedAt: 5), deadline: 3)
        _ = launches.lost("killed", at: 6, origin: "c1")
        launches.restart(origin: "c2")
        #expect(launches == RelayLaunches(RelayRecord(causes: ["c2"]), lastError: "killed"))
    }
}
