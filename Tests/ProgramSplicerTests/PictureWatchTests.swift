import EncodedMedia
import MixModel
import Testing

@testable import ProgramSplicer

/// Frozen and black pictures, by samples of keyframes.
@Suite struct PictureWatchTests {
    private static func picture(_ luma: UInt8) -> PictureSample? {
        PictureSample(parts: [UInt8](repeating: luma, count: PictureSample.side * PictureSample.side))
    }

    /// A picture that differs from that of any other keyframe.
    private static func moving(_ keyframe: Int) -> PictureSample? { picture(UInt8(40 + keyframe % 20 * 10)) }

    /// Feeds pictures at 20 per second, with a keyframe every second, and has each keyframe examined.
    ///
    /// - Parameter sample: The brightness of a keyframe by its number; `nil` if it cannot be examined.
    private static func feed(
        _ watch: inout QualityWatch, from start: Int, seconds: Int, isCameraOn: Bool = true,
        _ sample: (Int) -> PictureSample?
    ) -> [(at: Double, fault: QualityWatch.Fault?)] {
        var changes: [(Double, QualityWatch.Fault?)] = []
        for step in 0..<seconds * 20 {
            let at = Double(start) + Double(step) / 20
            let now = MediaTime.seconds(at)
            watch.took(EncodedFrame(track: .video, pts: now, dts: now, isIDR: step % 20 == 0, payload: [1]), at: now)
            if watch.waitingSince(at: now) != nil, let taken = watch.takeKeyframe(at: now),
                let sample = sample(start + step / 20)
            {
                watch.saw(sample, at: taken.time)
            }
            if watch.judge(expectsPictures: isCameraOn) { changes.append((at, watch.fault)) }
        }
        return changes
    }

    @Test func aPictureThatDoesNotChangeIsFrozenUntilItMoves() {
        var watch = QualityWatch(QualityLimits(freezeSeconds: 5, recoverySeconds: 3))
        #expect(Self.feed(&watch, from: 0, seconds: 20, Self.moving).isEmpty)
        let frozen = Self.feed(&watch, from: 20, seconds: 20) { Self.picture($0 % 2 == 0 ? 90 : 91) }
        #expect(frozen.map(\.fault) == [.frozen(seconds: 5)] && (24.9...25.2).contains(frozen[0].at), "\(frozen)")
        #expect(watch.fault?.words == "its picture has not changed for 5 s")
        let good = Self.feed(&watch, from: 40, seconds: 10, Self.moving)
        #expect(good.count == 1 && good[0].fault == nil && (42.9...43.2).contains(good[0].at), "\(good)")
    }

    /// Each keyframe is like the one before, and not like the first.
    @Test func aPictureThatChangesSlowlyIsNotFrozen() {
        var watch = QualityWatch(QualityLimits(freezeSeconds: 5))
        #expect(Self.feed(&watch, from: 0, seconds: 100) { Self.picture(UInt8($0 + 60)) }.isEmpty)
    }

    @Test func aBlackPictureIsBlackAndNotFrozen() {
        var watch = QualityWatch(QualityLimits(freezeSeconds: 10, blackSeconds: 4, recoverySeconds: 2))
        #expect(Self.feed(&watch, from: 0, seconds: 10, Self.moving).isEmpty)
        let black = Self.feed(&watch, from: 10, seconds: 20) { _ in Self.picture(16) }
        #expect(black.map(\.fault) == [.black(seconds: 4)] && (13.9...14.2).contains(black[0].at), "\(black)")
        let good = Self.feed(&watch, from: 30, seconds: 10, Self.moving)
        #expect(good.count == 1 && good[0].fault == nil, "\(good)")
        // Short darkness, again and again.
        #expect(Self.feed(&watch, from: 40, seconds: 40) { $0 % 4 == 0 ? Self.picture(200) : Self.picture(0) }.isEmpty)
    }

    /// Time for which nothing arrives is no time for which the picture was frozen.
    @Test func aStallIsNotFrozen() {
        var watch = QualityWatch(QualityLimits(freezeSeconds: 10, blackSeconds: 10))
        #expect(Self.feed(&watch, from: 0, seconds: 3) { _ in Self.picture(0) }.isEmpty)
        #expect(Self.feed(&watch, from: 103, seconds: 3) { _ in Self.picture(0) }.isEmpty)
    }

    @Test func aCameraThatIsOffIsNotBlack() {
        var watch = QualityWatch(QualityLimits(blackSeconds: 4))
        #expect(Self.feed(&watch, from: 0, seconds: 10) { _ in Self.picture(0) }.map(\.fault) == [.black(seconds: 4)])
        let off = Self.feed(&watch, from: 10, seconds: 10, isCameraOn: false) { _ in Self.picture(0) }
        #expect(off.count == 1 && off[0].fault == nil && off[0].at == 10, "\(off)")
    }

    /// The process that decodes is gone: a fault does not stay for ever.
    @Test func picturesThatAreNotExaminedAreNotJudged() {
        var watch = QualityWatch(QualityLimits(freezeSeconds: 5, recoverySeconds: 2))
        #expect(Self.feed(&watch, from: 0, seconds: 10) { _ in Self.picture(90) }.count == 1)
        let unknown = Self.feed(&watch, from: 10, seconds: 60) { _ in nil }
        #expect(unknown.count == 1 && unknown[0].fault == nil && (39...43).contains(unknown[0].at), "\(unknown)")
    }

    @Test func nothingIsTakenWithoutALimit() {
        var watch = QualityWatch(QualityLimits(minBitrate: 1, silenceSeconds: 3))
        let frame = EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: true, payload: [1])
        watch.took(frame, at: .zero)
        #expect(watch.waitingSince(at: .zero) == nil && watch.takeKeyframe(at: .zero) == nil && watch.isProven)
    }

    @Test func atMostOneKeyframeASecondIsTaken() {
        var watch = QualityWatch(QualityLimits(blackSeconds: 3))
        var taken = 0
        for step in 0..<200 {
            let now = MediaTime.milliseconds(step * 50)
            watch.took(EncodedFrame(track: .video, pts: now, dts: now, isIDR: true, payload: [1]), at: now)
            if watch.waitingSince(at: now) != nil, watch.takeKeyframe(at: now) != nil { taken += 1 }
            #expect(watch.waitingSince(at: now) == nil)
        }
        #expect(taken == 10)
    }

    /// A first address is used again once its pictures have moved, and are not black.
    @Test func aStreamIsProvenByPicturesThatMove() {
        var frozen = QualityWatch(QualityLimits(freezeSeconds: 20))
        _ = Self.feed(&frozen, from: 0, seconds: 10) { _ in Self.picture(90) }
        #expect(!frozen.isProven && frozen.fault == nil)
        _ = Self.feed(&frozen, from: 10, seconds: 2, Self.moving)
        #expect(frozen.isProven)
        var black = QualityWatch(QualityLimits(blackSeconds: 20))
        _ = Self.feed(&black, from: 0, seconds: 2) { _ in Self.picture(0) }
        #expect(!black.isProven)
        _ = Self.feed(&black, from: 2, seconds: 1) { _ in Self.picture(99) }
        #expect(black.isProven)
        // Nothing can be examined.
        var unknown = QualityWatch(QualityLimits(freezeSeconds: 5))
        _ = Self.feed(&unknown, from: 0, seconds: 29) { _ in nil }
        #expect(!unknown.isProven)
        _ = Self.feed(&unknown, from: 29, seconds: 2) { _ in nil }
        #expect(unknown.isProven)
    }

    /// A late answer about another stream.
    @Test func samplesOfAnotherTimeAreIgnored() {
        var watch = QualityWatch(QualityLimits(freezeSeconds: 5))
        _ = Self.feed(&watch, from: 0, seconds: 2, Self.moving)
        if let sample = Self.picture(90) {
            watch.saw(sample, at: .seconds(100))
            watch.saw(sample, at: .zero)
        }
        #expect(Self.feed(&watch, from: 2, seconds: 20, Self.moving).isEmpty)
    }
}
