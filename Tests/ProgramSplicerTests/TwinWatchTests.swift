import EncodedMedia
import Testing

@testable import ProgramSplicer

@Suite struct TwinWatchTests {
    /// Returns the times, in ms, at which the mixer on air becomes late, checked every millisecond up to 2 s.
    private static func suspicions(interval: MediaTime, pictures: [Int64]) -> [Int64] {
        var watch = TwinWatch()
        return (0...2000).filter { now in
            if pictures.contains(now) { watch.noteOnAir(at: .milliseconds(now)) }
            let suspects = watch.suspects(interval: interval, now: .milliseconds(now))
            if suspects { #expect(watch.isSuspicious) }
            return suspects
        }
    }

    @Test func aMixerIsLateOnceAfterEachPicture() {
        #expect(Self.suspicions(interval: .milliseconds(50), pictures: []).isEmpty)
        #expect(Self.suspicions(interval: .milliseconds(50), pictures: [1000]) == [1125])
        #expect(Self.suspicions(interval: .milliseconds(50), pictures: [1000, 1100, 1300]) == [1225, 1425])
    }

    @Test func fastProgramsHaveAtLeast100Milliseconds() {
        #expect(Self.suspicions(interval: .milliseconds(16), pictures: [0]) == [100])
    }

    @Test func aPictureEndsTheSuspicion() {
        var watch = TwinWatch()
        watch.noteOnAir(at: .zero)
        let isLate = watch.suspects(interval: .milliseconds(50), now: .seconds(1))
        #expect(isLate && watch.isSuspicious)
        watch.noteOnAir(at: .seconds(1))
        #expect(!watch.isSuspicious)
    }
}
