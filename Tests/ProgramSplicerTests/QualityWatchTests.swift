import EncodedMedia
import MixModel
import Testing

@testable import ProgramSplicer

@Suite struct QualityWatchTests {
    /// Feeds pictures of one size at one rate, and sound, from `start` on. A rate of 0 means no pictures.
    private static func feed(
        _ watch: inout QualityWatch, from start: Double, seconds: Double, fps: Int = 20, bytes: Int = 2500,
        soundBytes: Int? = 200, isCameraOn: Bool = true
    ) -> [(at: Double, fault: QualityWatch.Fault?)] {
        var changes: [(Double, QualityWatch.Fault?)] = []
        for step in 0..<Int(seconds * 100) {
            let now = start + Double(step) / 100
            if fps > 0, step % (100 / fps) == 0 {
                watch.took(
                    EncodedFrame(
                        track: .video, pts: .seconds(now), dts: .seconds(now),
                        payload: [UInt8](repeating: 0, count: bytes)),
                    at: .seconds(now))
            }
            if let soundBytes, step % 2 == 0 {
                watch.took(
                    EncodedFrame(
                        track: .audio, pts: .seconds(now), dts: .seconds(now),
                        payload: [UInt8](repeating: 0, count: soundBytes)),
                    at: .seconds(now))
            }
            if watch.judge(expectsPictures: isCameraOn) { changes.append((now, watch.fault)) }
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

    /// Another part of the relay handles stalls, and a source is back as soon as it is steady.
    @Test(arguments: [0.5, 1, 4, 30])
    func aStallIsNotPoor(seconds: Double) {
        for soundBytes in [200, nil] {
            var watch = QualityWatch(QualityLimits(minBitrate: 100_000, minFrameRate: 5, windowSeconds: 2))
            #expect(Self.feed(&watch, from: 0, seconds: 10, soundBytes: soundBytes).isEmpty)
            #expect(Self.feed(&watch, from: 10, seconds: seconds, fps: 0, soundBytes: nil).isEmpty)
            #expect(Self.feed(&watch, from: 10 + seconds, seconds: 10, soundBytes: soundBytes).isEmpty)
            #expect(watch.fault == nil)
        }
    }

    /// Sends pictures at one rate, with 0.8 s of nothing at the end of each period.
    private static func feedWithGaps(
        _ watch: inout QualityWatch, from start: Double, periods: Int, of period: Double, fps: Int
    ) -> [(at: Double, fault: QualityWatch.Fault?)] {
        (0..<periods).flatMap { number in
            feed(&watch, from: start + Double(number) * period, seconds: period - 0.8, fps: fps)
        }
    }

    /// A bad uplink has too few pictures, and stalls before a whole window has passed.
    @Test func repeatedStallsDoNotHideAPoorSource() {
        let limits = QualityLimits(minFrameRate: 15, windowSeconds: 4)
        var watch = QualityWatch(limits)
        let poor = Self.feedWithGaps(&watch, from: 0, periods: 4, of: 3, fps: 8)
        #expect(poor.count == 1 && (4.5...7).contains(poor[0].at) && watch.fault != nil, "\(poor)")
        // The same stalls do not make a good source poor.
        var good = QualityWatch(limits)
        #expect(Self.feedWithGaps(&good, from: 0, periods: 8, of: 3, fps: 20).isEmpty)
    }

    @Test func aSourceIsGoodAgainInSpiteOfRepeatedStalls() {
        var watch = QualityWatch(QualityLimits(minFrameRate: 15, windowSeconds: 4, recoverySeconds: 5))
        let poor = Self.feed(&watch, from: 0, seconds: 10, fps: 5)
        #expect(poor.count == 1 && watch.fault != nil, "\(poor)")
        let good = Self.feedWithGaps(&watch, from: 10.8, periods: 3, of: 9, fps: 20)
        #expect(good.count == 1 && good[0].fault == nil && (17...21).contains(good[0].at), "\(good)")
    }

    /// A stalled connection delivers at once what it has held up. Those pictures are no higher rate, and no lower one.
    @Test(arguments: [(8, true), (20, false)]) func heldUpPicturesCountWhereTheyBelong(fps: Int, isPoor: Bool) {
        var watch = QualityWatch(QualityLimits(minFrameRate: 10, windowSeconds: 2, recoverySeconds: 3))
        var faults: Set<Bool> = []
        for period in 0..<10 {
            for picture in 0..<3 * fps {
                let time = MediaTime.seconds(Double(3 * period) + Double(picture) / Double(fps))
                watch.took(
                    EncodedFrame(track: .video, pts: time, dts: time, payload: [1]),
                    at: .seconds(Double(3 * period + 3)))
                _ = watch.judge()
                if period > 0 { faults.insert(watch.fault != nil) }
            }
        }
        #expect(faults == [isPoor])
    }

    /// Time without frames does not count as good time.
    @Test func aStallDoesNotMakeAPoorSourceGood() {
        var watch = QualityWatch(QualityLimits(minFrameRate: 15, windowSeconds: 1, recoverySeconds: 5))
        let poor = Self.feed(&watch, from: 0, seconds: 5, fps: 5)
        #expect(poor.count == 1, "\(poor)")
        #expect(Self.feed(&watch, from: 5, seconds: 3).isEmpty)
        let good = Self.feed(&watch, from: 38, seconds: 10)
        #expect(good.count == 1 && good[0].fault == nil && (40...43).contains(good[0].at), "\(good)")
    }

    /// Frames that are always a second apart are no stalls. Neither is sound that goes on without pictures.
    @Test(arguments: [(1, nil), (0, 200)] as [(Int, Int?)])
    func picturesThatAreMissingAllTheTimeArePoor(fps: Int, soundBytes: Int?) {
        var watch = QualityWatch(QualityLimits(minFrameRate: 5, windowSeconds: 2))
        #expect(Self.feed(&watch, from: 0, seconds: 10, soundBytes: soundBytes).isEmpty)
        let poor = Self.feed(&watch, from: 10, seconds: 10, fps: fps, soundBytes: soundBytes)
        #expect(poor.count == 1 && !(poor[0].fault?.isOfSound ?? true), "\(poor)")
    }

    @Test func aCameraThatIsOffIsNotPoor() {
        var watch = QualityWatch(
            QualityLimits(minFrameRate: 5, silenceSeconds: 3, windowSeconds: 2, recoverySeconds: 2))
        #expect(Self.feed(&watch, from: 0, seconds: 10).isEmpty)
        #expect(Self.feed(&watch, from: 10, seconds: 10, fps: 0, isCameraOn: false).isEmpty)
        // The sound is judged.
        let silent = Self.feed(&watch, from: 20, seconds: 5, fps: 0, soundBytes: 7, isCameraOn: false)
        #expect(silent.map(\.fault) == [.silence(seconds: 3)])
        let heard = Self.feed(&watch, from: 25, seconds: 5, fps: 0, isCameraOn: false)
        #expect(heard.count == 1 && heard[0].fault == nil, "\(heard)")
        // A fault of pictures ends with them.
        #expect(Self.feed(&watch, from: 30, seconds: 10).isEmpty)
        #expect(Self.feed(&watch, from: 40, seconds: 5, fps: 2).map(\.fault) == [.frameRate(2, least: 5)])
        let off = Self.feed(&watch, from: 45, seconds: 5, fps: 0, isCameraOn: false)
        #expect(off.count == 1 && off[0].fault == nil && off[0].at == 45, "\(off)")
    }

    @Test func withoutLimitsNothingIsPoor() {
        var watch = QualityWatch(QualityLimits())
        #expect(Self.feed(&watch, from: 0, seconds: 5, fps: 1, bytes: 1, soundBytes: 1).isEmpty)
    }

    @Test func numbersAtTheEdgeDoNotTrap() {
        var watch = QualityWatch(QualityLimits(minBitrate: .max, minFrameRate: .max, silenceSeconds: .max))
        for nanoseconds in [Int64](stride(from: 0, through: 20_000_000_000, by: 500_000_000)) + [.max] {
            let time = MediaTime(nanoseconds: nanoseconds)
            watch.took(EncodedFrame(track: .video, pts: time, dts: time, payload: [0]), at: time)
            _ = watch.judge()
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
