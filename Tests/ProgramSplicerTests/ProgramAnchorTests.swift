import EncodedMedia
import MediaFormats
import Testing

@testable import ProgramSplicer

@Suite struct ProgramAnchorTests {
    private static let second: Int64 = 1_000_000_000
    /// A stream that began at 1000 s of the monotonic clock and at 50,000 s of the wall clock, noted after 60 s.
    private let anchor = ProgramAnchor(
        boot: "a", zero: 1000 * second, wallZero: 50_000, noted: .seconds(60), ahead: .milliseconds(50))

    @Test func aSuccessorContinuesByTheTimeThatHasPassed() throws {
        // The predecessor was killed at any time, and the successor started at 1065 s. The successor's own program
        // began 0.2 s before.
        let place = try #require(
            anchor.continuation(
                boot: "a", clock: 1065 * Self.second, wall: 99, programStart: 1065 * Self.second - 200_000_000))
        #expect(place.origin == .milliseconds(200 - 65_000))
        #expect(place.earliest == .milliseconds(65_050))
    }

    @Test func afterARebootTheTimeOfDayStandsIn() throws {
        let place = try #require(
            anchor.continuation(boot: "b", clock: 5 * Self.second, wall: 50_300, programStart: 4 * Self.second))
        #expect(place.origin == .seconds(1 - 300))
        #expect(place.earliest == .milliseconds(300_050))
    }

    @Test func aClockThatWasSetBackTakesNoTimestampBack() throws {
        let place = try #require(
            anchor.continuation(boot: "b", clock: 5 * Self.second, wall: 10, programStart: 5 * Self.second))
        // Up to 10 s may have passed since the note.
        #expect(place.origin == .seconds(-70))
        #expect(place.earliest == .milliseconds(70_050))
    }

    @Test(arguments: [
        ("a", Int64.min), ("a", Int64.max), ("a", 2000 * second), ("b", 0),
    ])
    func anAnchorThatCannotBeTrueIsNotBelieved(boot: String, zero: Int64) {
        var anchor = anchor
        anchor.zero = zero
        anchor.wallZero = -1e300
        anchor.noted = MediaTime(nanoseconds: .max)
        anchor.ahead = MediaTime(nanoseconds: .max)
        #expect(anchor.continuation(boot: boot, clock: 1065 * Self.second, wall: 0, programStart: 0) == nil)
    }

    @Test func everyTimestampIsBelowTheNotedBound() {
        var generator = SystemRandomNumberGenerator()
        let seed = UInt64.random(in: 0...UInt64.max, using: &generator)
        print("seed \(seed)")
        var state = seed
        func random(_ range: ClosedRange<Int64>) -> Int64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return range.lowerBound + Int64(state >> 33) % (range.upperBound - range.lowerBound + 1)
        }
        var schedule = AnchorSchedule()
        var (now, bound, notes) = (MediaTime.zero, MediaTime.zero, 0)
        for _ in 0..<20_000 {
            now += .milliseconds(random(1...60))
            let dts = now + .milliseconds(random(-400...40))
            if let ahead = schedule.sent(dts, now: now) {
                bound = ahead
                notes += 1
            }
            #expect(dts <= now + bound)
        }
        // The simulation has 20,000 frames in about 600 s.
        #expect(notes < 70, "\(notes) notes")
    }

    @Test func aLeadThatIsOverIsForgotten() {
        var schedule = AnchorSchedule()
        #expect(schedule.sent(.seconds(3), now: .zero) == .milliseconds(3050))
        #expect(schedule.sent(.seconds(1), now: .seconds(1)) == nil)
        #expect(schedule.sent(.seconds(10), now: .seconds(10)) == .milliseconds(50))
    }
}

@Suite struct ContinuedProgramTests {
    private let video = CodecConfiguration(track: .video, bytes: [1, 0x64, 0, 31, 0xFF, 0xE1, 0, 1, 0x67])
    private let audio = CodecConfiguration(track: .audio, bytes: [0x11, 0x90])

    private func frame(_ track: Track, _ ms: Int, idr: Bool = false) -> EncodedFrame {
        EncodedFrame(
            track: track, pts: .milliseconds(ms), dts: .milliseconds(ms), isIDR: idr, payload: [0, 0, 0, 1, 0x65])
    }

    private func program() -> FLVProgram {
        // The successor's time 0 is stream time 20,000; the predecessor may have sent up to 20,100.
        var program = FLVProgram(continuing: .init(origin: .milliseconds(-20_000), earliest: .milliseconds(20_100)))
        _ = program.configure(video)
        _ = program.configure(audio)
        return program
    }

    private func times(_ tags: [FLVTag]) -> [UInt32] { tags.map(\.timestamp) }

    @Test func theFirstFrameGoesOnWithHeadersOfItsTime() {
        var program = program()
        let first = program.write(frame(.video, 700, idr: true))
        #expect(times(first) == [20_700, 20_700, 20_700, 20_700])
        #expect(times(program.write(frame(.audio, 690))) == [20_690])
        #expect(program.streamTime(of: .zero) == .seconds(20))
    }

    @Test func picturesFromBeforeFollowInSmallStepsAndSoundFromBeforeIsLeftOut() {
        var program = program()
        var sent: [UInt32] = []
        // A cached group of pictures that began before the predecessor's end.
        for index in 0..<30 {
            sent += times(program.write(frame(.video, -900 + index * 50, idr: index == 0)).suffix(1))
            let sound = program.write(frame(.audio, -900 + index * 50))
            #expect(sound.isEmpty == (-900 + index * 50 < 100))
        }
        #expect(sent.count == 30, "no picture may be missing, because later ones refer to it")
        #expect(sent.first == 20_100)
        #expect(zip(sent, sent.dropFirst()).allSatisfy { $0 < $1 })
        #expect(sent.suffix(9) == [20_150, 20_200, 20_250, 20_300, 20_350, 20_400, 20_450, 20_500, 20_550])
    }

    @Test func aNewStreamBeginsAtZero() {
        var program = FLVProgram()
        #expect(program.streamTime(of: .zero) == nil)
        _ = program.configure(video)
        #expect(times(program.write(frame(.video, 700, idr: true))).last == 0)
    }
}
