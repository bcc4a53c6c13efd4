import EncodedMedia
import Testing

@testable import ProgramSplicer

@Suite struct MixerWatchdogTests {
    /// Returns the milliseconds of silence after which a mixer with this share of a core counts as hung, checked every
    /// 50 ms for 60 s; `nil` if it never does.
    private func silence(
        _ watchdog: MixerWatchdog, from start: Int, share: Double?, interval: MediaTime = .milliseconds(50)
    ) -> Int? {
        var watchdog = watchdog
        for elapsed in stride(from: 0, through: 60_000, by: 50) {
            let now = MediaTime.milliseconds(start + elapsed)
            guard watchdog.isSuspect(at: now) else { continue }
            let used = share.map { 7 + $0 * Double(elapsed) / 1000 }
            if watchdog.isHung(at: now, cpuSeconds: used, interval: interval) { return elapsed }
        }
        return nil
    }

    @Test(
        arguments: [
            (0, 1000), (0.019, 1000), (0.021, 3000), (0.5, 3000), (0.79, 3000), (0.81, 1000), (1.9, 1000), (nil, 3000),
        ] as [(Double?, Int)])
    func silenceIsJudgedByTheProcessorTime(_ share: Double?, _ expected: Int) {
        var watchdog = MixerWatchdog()
        watchdog.begin(at: .zero)
        watchdog.delivered(at: .milliseconds(40_000))
        #expect(silence(watchdog, from: 40_000, share: share) == expected)
    }

    /// An interval of one second between frames does not count as a silence of a second.
    @Test(arguments: [(0.01, 2000), (0.5, 4000), (0.9, 2000)])
    func aSlowMixIsGrantedItsInterval(_ share: Double, _ expected: Int) {
        var watchdog = MixerWatchdog()
        watchdog.begin(at: .zero)
        watchdog.delivered(at: .seconds(9))
        #expect(silence(watchdog, from: 9_000, share: share, interval: .seconds(1)) == expected)
    }

    /// After the machine was suspended for two seconds, the mixer gets the time to deliver, once.
    @Test func aWatcherThatStoodStillCannotTell() {
        var watchdog = MixerWatchdog()
        watchdog.begin(at: .zero)
        watchdog.delivered(at: .seconds(9))
        watchdog.excuse(.seconds(2), at: .seconds(11))
        #expect(silence(watchdog, from: 11_000, share: 0) == 1000)
        watchdog.excuse(.seconds(2), at: .seconds(13))
        #expect(silence(watchdog, from: 11_000, share: 0) == 1000)
    }

    @Test func theFirstFrameMayTakeLonger() {
        var watchdog = MixerWatchdog()
        #expect(silence(watchdog, from: 0, share: 0) == nil)
        watchdog.begin(at: .milliseconds(100))
        watchdog.begin(at: .milliseconds(9_000))
        #expect(silence(watchdog, from: 100, share: 0) == 5000)
    }

    /// Another mixer does not help a machine that is too busy for one. A mixer that does not run is still replaced.
    @Test(arguments: [(0, 5000), (1, 10_000), (2, 20_000), (3, 40_000), (99, 40_000)])
    func mixersThatFollowFailuresHaveMoreTime(failures: Int, _ expected: Int) {
        for share in [0.05, 0.5, 1.5] {
            var watchdog = MixerWatchdog(failures: failures)
            watchdog.begin(at: .zero)
            #expect(silence(watchdog, from: 0, share: share) == expected, "\(share)")
            watchdog.delivered(at: .seconds(90))
            let usual = failures == 0 && share > 1 ? 1000 : expected * 3 / 5
            #expect(silence(watchdog, from: 90_000, share: share) == usual, "\(share)")
        }
        var stopped = MixerWatchdog(failures: failures)
        stopped.begin(at: .zero)
        #expect(silence(stopped, from: 0, share: 0) == 5000)
        stopped.delivered(at: .seconds(90))
        #expect(silence(stopped, from: 90_000, share: 0) == 1000)
    }

    /// Processor time from before the silence does not count.
    @Test func aFrameBeginsTheMeasurementAnew() {
        var watchdog = MixerWatchdog()
        watchdog.begin(at: .zero)
        for index in 1...100 {
            let now = MediaTime.milliseconds(index * 900)
            let isHung = watchdog.isHung(at: now, cpuSeconds: Double(index))
            #expect(!isHung)
            watchdog.delivered(at: now)
            #expect(!watchdog.isSuspect(at: now + .milliseconds(200)))
        }
        #expect(silence(watchdog, from: 90_000, share: 0) == 1000)
        #expect(silence(watchdog, from: 90_000, share: 0.5) == 3000)
    }
}
