import EncodedMedia
import MixModel
import Testing

@testable import ProgramSplicer

@Suite struct QualityWatchTests {
    /// Feeds pictures of one size at one rate, and sound, from `start` on.
    private static func feed(
        _ watch: inout QualityWatch, from start: Double, seconds: Double, fps: Int = 20, bytes: Int = 2500,
        soundBytes: Int? = 200
    ) -> [(at: Double, fault: QualityWatch.Fault?)] {
        var changes: [(Double, QualityWatch.Fault?)] = []
        for step in 0..<Int(seconds * 100) {
            let now = start + Double(step) / 100
            if step % (100 / fps) == 0 {
                watch.took(
                    EncodedFrame(
                        track: .video, pts: .zero, dts: .zero, payload: [UInt8](repeating: 0, count: bytes)),
                    at: .seconds(now))
            }
            if let soundBytes, step % 2 == 0 {
                watch.took(
                    EncodedFrame(
                        track: .audio, pts: .zero, dts: .zero, payload: [UInt8](repeating: 0, count: soundBytes)),
                    at: .seconds(now))
            }
            if watch.judge(at: .seconds(now)) { changes.append((now, watch.fault)) }
        }
        return changes
    }

    @Test func aLowBitRateIsPoorAfterTheWindowAndGoodAfterTheRecovery() throws {
        var watch = QualityWatch(QualityLimits(minBitrate: 300_000, windowSeconds: 2, recoverySeconds: 3))
        // The pictures have 400 kbit/s.
        #expect(Self.feed(&watch, from: 0, seconds: 10).isEmpty)
        let poor = Self.feed(&watch, from: 10, seconds: 10, bytes: 500)
        #expect(poor.count == 1 && (10.2...12.6).contains(poor[0].at))
        let fault = try #require(poor.first?.fault)
        #expect(fault.words.contains("kbit/s, less than the 300 kbit/s"))
        // Slightly above the limit is not enough to recover: 312 kbit/s.
        #expect(Self.feed(&watch, from: 20, seconds: 10, bytes: 1950).isEmpty && watch.fault != nil)
        let good = Self.feed(&watch, from: 30, seconds: 10)
        #expect(good.count == 1 && good[0].fault == nil && (33...36).contains(good[0].at), "\(good)")
    }

    @Test func aLowFrameRateIsPoor() {
        var watch = QualityWatch(QualityLimits(minFrameRate: 10, windowSeconds: 1, recoverySeconds: 3))
        let poor = Self.feed(&watch, from: 0, seconds: 5, fps: 5)
        #expect(poor.map(\.fault) == [.frameRate(5, least: 10)] && (1...2.1).contains(poor[0].at))
        // The good periods are never three seconds long.
        for second in stride(from: 5.0, to: 15, by: 2) {
            #expect(Self.feed(&watch, from: second, seconds: 1, fps: 20).isEmpty)
            #expect(Self.feed(&watch, from: second + 1, seconds: 1, fps: 5).isEmpty)
        }
        #expect(watch.fault != nil)
    }

    @Test func digitalSilenceIsPoorAndQuietSoundIsNot() {
        var watch = QualityWatch(QualityLimits(silenceSeconds: 3, recoverySeconds: 2))
        #expect(Self.feed(&watch, from: 0, seconds: 10, soundBytes: 40).isEmpty)
        let silent = Self.feed(&watch, from: 10, seconds: 5, soundBytes: 7)
        #expect(silent.map(\.fault) == [.silence(seconds: 3)] && (12.9...13.2).contains(silent[0].at))
        let good = Self.feed(&watch, from: 15, seconds: 5, soundBytes: 40)
        #expect(good.count == 1 && (16.9...17.2).contains(good[0].at), "\(good)")
        // A source without sound is not silent.
        var mute = QualityWatch(QualityLimits(silenceSeconds: 3))
        #expect(Self.feed(&mute, from: 0, seconds: 10, soundBytes: nil).isEmpty)
    }

    @Test func withoutLimitsNothingIsPoor() {
        var watch = QualityWatch(QualityLimits())
        #expect(Self.feed(&watch, from: 0, seconds: 5, fps: 1, bytes: 1, soundBytes: 1).isEmpty)
    }

    @Test func numbersAtTheEdgeDoNotTrap() {
        var watch = QualityWatch(QualityLimits(minBitrate: .max, minFrameRate: .max, silenceSeconds: .max))
        let frame = EncodedFrame(track: .video, pts: .zero, dts: .zero, payload: [0])
        for time in [0, 1, 1_000_000_000, 20_000_000_000, Int64.max] {
            watch.took(frame, at: MediaTime(nanoseconds: time))
            _ = watch.judge(at: MediaTime(nanoseconds: time))
        }
        #expect(watch.fault != nil)
    }
}

@Suite struct BackupChoiceTests {
    @Test func aFailureTakesTheBackupUntilTheFirstIsGoodForLongEnough() {
        var choice = BackupChoice(recovery: .seconds(5))
        choice.failed(at: .seconds(10))
        #expect(choice.way == .backup)
        var returns: [Double] = []
        // The source is good for 4 s, bad, and good again from 16 s on.
        for tenth in 100..<300 {
            let now = Double(tenth) / 10
            if choice.first(isGood: !(14..<16).contains(now), at: .seconds(now)) { returns.append(now) }
        }
        #expect(returns.first == 21, "\(returns.first ?? 0)")
    }

    @Test func whoFailsSoonAgainHasToBeGoodForLonger() {
        var choice = BackupChoice(recovery: .seconds(5))
        var now = 0.0
        var waits: [Double] = []
        for _ in 0..<6 {
            choice.failed(at: .seconds(now))
            let begun = now
            while !choice.first(isGood: true, at: .seconds(now)) { now += 1 }
            waits.append(now - begun)
            choice.returned(at: .seconds(now))
            now += 2
        }
        #expect(waits == [5, 10, 20, 40, 60, 60])
        now += 61
        choice.failed(at: .seconds(now))
        let early = choice.first(isGood: true, at: .seconds(now))
        let later = choice.first(isGood: true, at: .seconds(now + 5))
        #expect(!early && later, "after a minute without a failure")
    }

    @Test func aBackupThatFailsLeadsToTheFirst() {
        var choice = BackupChoice(recovery: .seconds(5))
        choice.failed(at: .zero)
        choice.failed(at: .seconds(1))
        #expect(choice.way == .first)
        let isReturn = choice.first(isGood: true, at: .seconds(99))
        #expect(!isReturn)
    }
}
