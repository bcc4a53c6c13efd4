import EncodedMedia
import TestSupport
import Testing

@testable import ProgramSplicer

@Suite struct StallWatchTests {
    private static let interval = MediaTime.milliseconds(50)

    /// Returns a watch that got a frame every 50 ms for two seconds, and the time of the last one.
    private func steady() -> (StallWatch, MediaTime) {
        var watch = StallWatch()
        for index in 0...40 { watch.arrived(at: .milliseconds(index * 50), interval: Self.interval) }
        return (watch, .seconds(2))
    }

    @Test func aStallIsAnIntervalAndTheJitterOfANetwork() {
        let (watch, last) = steady()
        #expect(!watch.isSuspect(at: last + .milliseconds(120)))
        #expect(watch.isSuspect(at: last + .milliseconds(121)) && !watch.hasStalled(at: last + .milliseconds(121)))
        #expect(!watch.hasStalled(at: last + .milliseconds(250)))
        #expect(watch.hasStalled(at: last + .milliseconds(251)))
        let suspect = watch.nextChange(after: last)
        let stalled = suspect.flatMap { watch.nextChange(after: $0) }
        #expect(suspect.map { watch.isSuspect(at: $0) } == true)
        #expect(stalled.map { watch.hasStalled(at: $0) } == true)
        #expect(stalled.flatMap { watch.nextChange(after: $0) } == nil)
    }

    /// A machine that was suspended for a second: the source gets the time to deliver, once.
    @Test func aWatcherThatStoodStillCannotTell() {
        let (begun, last) = steady()
        var watch = begun
        let woken = last + .seconds(1)
        #expect(watch.hasStalled(at: woken))
        watch.excuse(.milliseconds(880), at: woken)
        #expect(!watch.hasStalled(at: woken))
        #expect(!watch.hasStalled(at: woken + .milliseconds(130)))
        var silent = watch
        #expect(silent.hasStalled(at: woken + .milliseconds(131)))
        silent.excuse(.seconds(1), at: woken + .milliseconds(131))
        #expect(silent.hasStalled(at: woken + .milliseconds(131)))
        watch.arrived(at: woken + .milliseconds(100), interval: Self.interval)
        #expect(watch.isSteady(at: woken + .milliseconds(100)))
        // A mix makes what a long one has cost.
        var long = watch
        long.excuse(.seconds(9), at: woken + .seconds(9))
        #expect(long.hasStalled(at: woken + .seconds(9)))
        // The next standstill has an excuse of its own.
        watch.excuse(.milliseconds(900), at: woken + .milliseconds(1100))
        #expect(!watch.hasStalled(at: woken + .milliseconds(1100)))
    }

    @Test func nothingHasStalledThatHasNotBegun() {
        let watch = StallWatch()
        #expect(!watch.hasStalled(at: .seconds(9)) && watch.isSteady(at: .zero))
        #expect(watch.nextChange(after: .zero) == nil)
    }

    /// Jitter of 200 ms never counts, in any order.
    @Test(arguments: 0..<20) func jitterIsNoStall(run: Int) {
        var random = SeededGenerator(seed: UInt64(run))
        var watch = StallWatch()
        var arrival = MediaTime.zero
        for index in 0..<2000 {
            // Arrivals are in order, as with TCP.
            let next = max(arrival, .milliseconds(index * 50 + Int.random(in: 0...200, using: &random)))
            if index > 0 { #expect(!watch.hasStalled(at: next), "frame \(index)") }
            watch.arrived(at: next, interval: Self.interval)
            arrival = next
        }
        #expect(watch.isSteady(at: arrival))
    }

    /// A server that collects pictures, as SRS does for 350 ms, sends in bursts: the first one may look like a stall,
    /// but the source soon counts as steady, and stays so.
    @Test(arguments: [260, 350, 500, 700]) func burstsAreHowSomeServersSend(milliseconds: Int) {
        var watch = StallWatch()
        var stalls = 0
        var steadyFrom: Int?
        for burst in 0..<100 {
            let now = MediaTime.milliseconds(burst * milliseconds)
            if burst > 0, watch.hasStalled(at: now) { stalls += 1 }
            for _ in 0..<max(1, milliseconds / 50) { watch.arrived(at: now, interval: Self.interval) }
            if watch.isSteady(at: now + .milliseconds(milliseconds - 1)) {
                if steadyFrom == nil, burst > 1 { steadyFrom = burst * milliseconds }
            } else {
                steadyFrom = nil
            }
        }
        #expect(
            stalls <= 3 && steadyFrom.map { $0 <= 7000 } == true, "\(stalls) stalls, steady from \(steadyFrom ?? -1) ms"
        )
    }

    @Test func gapsAsBeforeRaiseNoSuspicion() {
        var (watch, now) = steady()
        now += .milliseconds(150)
        #expect(watch.isSuspect(at: now))
        watch.arrived(at: now, interval: Self.interval)
        #expect(!watch.isSuspect(at: now + .milliseconds(180)) && watch.isSuspect(at: now + .milliseconds(190)))
        now += .milliseconds(240)
        watch.arrived(at: now, interval: Self.interval)
        // Some time is always left to prepare.
        #expect(watch.isSuspect(at: now + .milliseconds(265)) && !watch.hasStalled(at: now + .milliseconds(300)))
    }

    @Test func aSourceThatCatchesUpIsNotSteady() {
        var (watch, now) = steady()
        watch.moved(at: now)
        #expect(watch.isSteady(at: now), "it has not stalled")
        now += .seconds(2)
        watch.arrived(at: now, interval: Self.interval)
        watch.moved(at: now + .milliseconds(900))
        #expect(!watch.isSteady(at: now + .milliseconds(1399)) && watch.isSteady(at: now + .milliseconds(1400)))
    }

    @Test func aHiccupThatPassedTheLimitIsToleratedForAWhile() {
        var (watch, now) = steady()
        now += .milliseconds(400)
        #expect(watch.hasStalled(at: now))
        watch.arrived(at: now, interval: Self.interval)
        #expect(!watch.hasStalled(at: now + .milliseconds(500)) && watch.hasStalled(at: now + .milliseconds(501)))
        for _ in 0..<620 {
            now += Self.interval
            watch.arrived(at: now, interval: Self.interval)
        }
        #expect(watch.hasStalled(at: now + .milliseconds(251)), "the network is good again")
    }

    @Test func aRealStallMakesNobodyPatient() {
        var (watch, now) = steady()
        now += .seconds(3)
        watch.arrived(at: now, interval: Self.interval)
        #expect(watch.hasStalled(at: now + .milliseconds(251)))
    }

    @Test func gapsThatComeAgainAndAgainAreTheTracksNature() {
        var (watch, now) = steady()
        for _ in 0..<3 {
            now += .milliseconds(900)
            watch.arrived(at: now, interval: Self.interval)
        }
        #expect(!watch.hasStalled(at: now + .milliseconds(1000)) && watch.hasStalled(at: now + .milliseconds(1001)))
    }

    @Test func aSlowTrackHasItsOwnInterval() {
        var watch = StallWatch()
        for index in 0..<10 { watch.arrived(at: .seconds(Double(index) * 2), interval: .seconds(2)) }
        #expect(!watch.hasStalled(at: .seconds(20.2)) && watch.hasStalled(at: .seconds(20.3)))
    }

    @Test func aSourceIsSteadyAgainLaterEachTime() {
        var (watch, now) = steady()
        for expected in [1, 2, 4, 8, 8] {
            now += .milliseconds(1100)
            watch.arrived(at: now, interval: Self.interval)
            let end = now + .seconds(Double(expected))
            #expect(!watch.isSteady(at: end - .milliseconds(1)) && watch.isSteady(at: end), "\(expected) s")
        }
        // Not steady while gaps beyond jitter continue.
        now += .milliseconds(300)
        watch.arrived(at: now, interval: Self.interval)
        #expect(!watch.isSteady(at: now + .milliseconds(7999)) && watch.isSteady(at: now + .milliseconds(8000)))
        // Much later, the watch treats the source like a new one.
        for _ in 0..<1000 {
            now += Self.interval
            watch.arrived(at: now, interval: Self.interval)
        }
        now += .seconds(2)
        watch.arrived(at: now, interval: Self.interval)
        #expect(watch.isSteady(at: now + .milliseconds(1000)))
    }

    @Test func itsMemoryIsBounded() {
        var watch = StallWatch()
        for index in 0..<10_000 { watch.arrived(at: .milliseconds(index * 140), interval: Self.interval) }
        let size = Mirror(reflecting: watch).children.compactMap {
            Mirror(reflecting: $0.value).displayStyle == .collection ? Mirror(reflecting: $0.value).children.count : nil
        }
        #expect(size.allSatisfy { $0 <= 8 }, "\(size)")
    }
}
