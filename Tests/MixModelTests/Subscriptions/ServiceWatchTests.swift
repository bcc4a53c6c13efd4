import MixModel
import Testing

@Suite struct ServiceWatchTests {
    private static let second: Int64 = 1_000_000_000
    private static let live = states(ServiceState(running: true))
    private static let broken = states(
        ServiceState(error: ServiceState.Failure(code: "wedged", message: "output a: no more bytes")))

    private static func states(_ rtmp: ServiceState) -> ServiceStates {
        var states = ServiceStates()
        states["rtmp"] = rtmp
        return states
    }

    @Test func eachChangeIsToldOnce() {
        var watch = ServiceWatch()
        #expect(watch.take(ServiceStates(), now: 0) == nil)
        #expect(watch.take(Self.live, now: 1) == Self.live)
        #expect(watch.take(Self.live, now: 2) == nil)
        #expect(watch.take(Self.broken, now: 3) == Self.broken)
        #expect(watch.take(ServiceStates(), now: 4) == ServiceStates())
    }

    /// A flapping output is reported for a while, and then once a minute with its current state.
    @Test func whatFlapsIsToldOfNowAndThen() {
        var watch = ServiceWatch()
        var told = 0
        for index in 0..<100 where watch.take(index % 2 == 0 ? Self.live : Self.broken, now: Int64(index)) != nil {
            told += 1
        }
        #expect(told == ServiceWatch.mostChanges)
        #expect(watch.take(Self.live, now: 30 * Self.second) == nil)
        #expect(!watch.tells(of: Self.live, now: 59 * Self.second))
        #expect(watch.take(Self.live, now: 61 * Self.second) == Self.live)
    }
}
