import Testing

@testable import MixModel

@Suite struct RelayLaunchesTests {
    @Test func delaysGrowUntilARelayLasts() {
        var launches = RelayLaunches(RelayRecord())
        let delays = (0..<9).map { launches.lost("no binary", at: $0, origin: nil).delay / 1_000_000 }
        #expect(delays == [50, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000])
        launches.connected(at: 0)
        #expect(launches.lost("killed", at: RelayLaunches.stableAfter - 1, origin: nil).delay == 30_000_000_000)
        launches.connected(at: 0)
        #expect(launches.lost("killed", at: RelayLaunches.stableAfter, origin: nil).delay == 50_000_000)
        #expect(launches.record.failures == 1)
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
