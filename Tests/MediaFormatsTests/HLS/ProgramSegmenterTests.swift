import MediaSupport
import TestSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats

@Suite struct ProgramSegmenterTests {
    @Test("any program: every frame once, in order, in segments that keep the target")
    func properties() {
        var random = SeededGenerator(announcedFor: "segments of any program")
        for _ in 0..<150 {
            let seconds = Int.random(in: 1...10, using: &random)
            let program = HLSProgram(&random, stretches: Int.random(in: 1...5, using: &random))
            let (segments, target) = program.segments(seconds: seconds)
            // Nothing is lost except sound from before the first picture.
            #expect(segments.flatMap(\.frames).filter { $0.track == .video } == program.video)
            let sound = segments.flatMap(\.frames).filter { $0.track == .audio }.map(\.pts)
            #expect(sound == sound.sorted() && Set(sound).count == sound.count)
            let first = segments[0].start
            #expect(sound.count >= program.audio.count { $0.pts >= first })
            #expect(target >= seconds && target <= max(seconds, ProgramSegmenter.longestTarget))
            for segment in segments {
                #expect(Int(segment.duration.inSeconds.rounded()) <= target, "\(segment.duration) of \(target) s")
                #expect(segment.isIndependent == (segment.frames.first?.isIDR ?? false))
            }
            for (one, next) in zip(segments, segments.dropFirst()) {
                #expect(next.isDiscontinuity == (one.video != next.video || one.audio != next.audio))
                #expect((next.start - one.start - one.duration).magnitude < .milliseconds(1))
                #expect(
                    next.wallClock - one.wallClock == (next.start - one.start).roundedMilliseconds
                        || abs(next.wallClock - one.wallClock - (next.start - one.start).roundedMilliseconds) <= 1)
                // Sound is in the segment of the pictures that accompany it.
                for frame in one.frames where frame.track == .audio {
                    #expect(frame.pts < next.start + .milliseconds(150) && frame.pts > one.start - .milliseconds(51))
                }
            }
        }
    }

    @Test("a clock that is set in the middle does not move the dates of segments", arguments: [-3_600_000, 3_600_000])
    func clock(step: Int64) {
        var segmenter = ProgramSegmenter(segmentSeconds: 2)
        _ = segmenter.push(.configuration(HLSProgram.video(1)), wallClock: 1_000_000)
        var segments: [ProgramSegment] = []
        for number in Int64(0)..<400 {
            let picture = HLSProgram.picture(at: .milliseconds(number * 50), isIDR: number % 40 == 0, size: 50)
            let wallClock = 1_000_000 + number * 50 + (number >= 200 ? step : 0)
            segments += segmenter.push(.frame(picture), wallClock: wallClock)
        }
        #expect(segments.count >= 8)
        #expect(segments.map(\.wallClock) == segments.map { 1_000_000 + $0.start.roundedMilliseconds })
    }

    @Test("groups of pictures that fit are never cut", arguments: [1, 2, 3, 4])
    func independence(group: Int) {
        let interval = MediaTime.milliseconds(50)
        let items: [MediaItem] =
            [.configuration(HLSProgram.video(1))]
            + (0..<2000).map {
                .frame(HLSProgram.picture(at: interval * $0, isIDR: $0 % Int64(group * 20) == 0, size: 50))
            }
        var segmenter = ProgramSegmenter(segmentSeconds: 4)
        let segments = items.flatMap { segmenter.push($0, wallClock: 0) } + segmenter.finish()
        #expect(segmenter.targetDuration == 4)
        let expected = MediaTime.seconds(group == 3 ? 3 : 4)
        #expect(segments.dropLast().allSatisfy { $0.isIndependent && $0.duration == expected && !$0.isDiscontinuity })
    }

    @Test("a publisher with long groups sets the target; one that comes later is cut where it has to be")
    func longGroups() {
        func items(from start: Int64, count: Int64, group: Int64) -> [MediaItem] {
            (start..<start + count).map {
                .frame(HLSProgram.picture(at: .milliseconds($0 * 50), isIDR: ($0 - start) % group == 0, size: 50))
            }
        }
        let long = [.configuration(HLSProgram.video(1))] + items(from: 0, count: 800, group: 200)
        var first = ProgramSegmenter(segmentSeconds: 4)
        let tens = long.flatMap { first.push($0, wallClock: 0) } + first.finish()
        #expect(first.targetDuration == 10)
        #expect(tens.map(\.duration) == [MediaTime](repeating: .seconds(10), count: 4))

        let mixed =
            [.configuration(HLSProgram.video(1))] + items(from: 0, count: 160, group: 40)
            + [.configuration(HLSProgram.video(2))] + items(from: 160, count: 600, group: 200)
        var second = ProgramSegmenter(segmentSeconds: 4)
        let segments = mixed.flatMap { second.push($0, wallClock: 0) } + second.finish()
        #expect(second.targetDuration == 4)
        #expect(segments.contains { !$0.isIndependent })
        #expect(segments.allSatisfy { Int($0.duration.inSeconds.rounded()) <= 4 })
        #expect(segments.filter(\.isDiscontinuity).map(\.start) == [.seconds(8)])
    }

    @Test("keyframes that viewers ask for, beside the regular ones, cut no group", arguments: [2, 3, 4, 5, 6])
    func extraKeyframes(seconds: Int) {
        var random = SeededGenerator(announcedFor: "segments of \(seconds) s with keyframes in between")
        let interval = MediaTime.milliseconds(50)
        for share in [3, 20, 60] {
            var last = Int64(0)
            var items = [MediaItem.configuration(HLSProgram.video(1))]
            for index in Int64(0)..<8000 {
                let isExtra = index - last >= 7 && Int.random(in: 0..<share, using: &random) == 0
                let isIDR = index % 40 == 0 || isExtra && index % 1000 >= 700
                if isIDR { last = index }
                items.append(.frame(HLSProgram.picture(at: interval * index, isIDR: isIDR, size: 50)))
            }
            var segmenter = ProgramSegmenter(segmentSeconds: seconds)
            let segments = items.flatMap { segmenter.push($0, wallClock: 0) } + segmenter.finish()
            #expect(segmenter.targetDuration == seconds && segments.allSatisfy(\.isIndependent), "\(share)")
        }
    }

    @Test("pictures that become slower just before a segment has to end do not make it longer than the target")
    func slowerPictures() {
        let quick = (0..<194).map { Int64($0) * 33 }
        let times = quick + (1...60).map { 193 * 33 + Int64($0) * 67 }
        let items =
            [.configuration(HLSProgram.video(1))]
            + times.enumerated().map { index, time in
                MediaItem.frame(
                    HLSProgram.picture(at: .milliseconds(time), isIDR: index == 0 || index == 91, size: 50))
            }
        var segmenter = ProgramSegmenter(segmentSeconds: 3)
        let segments = items.flatMap { segmenter.push($0, wallClock: 0) } + segmenter.finish()
        #expect(segmenter.targetDuration == 3)
        #expect(segments.allSatisfy { $0.duration < .milliseconds(3490) }, "\(segments.map(\.duration))")
        #expect(segments.flatMap(\.frames).count == times.count)
    }

    @Test("sound alone, and pictures alone")
    func oneTrack() {
        var random = SeededGenerator(announcedFor: "one track")
        let sound = HLSProgram(&random, hasVideo: false)
        let (spoken, _) = sound.segments()
        #expect(spoken.flatMap(\.frames).count == sound.audio.count)
        #expect(
            spoken.dropLast().allSatisfy {
                $0.video == nil && ($0.duration - .seconds(4)).magnitude < .milliseconds(22)
            })
        let silent = HLSProgram(&random, hasAudio: false)
        let (shown, _) = silent.segments()
        #expect(shown.flatMap(\.frames) == silent.video)
        #expect(shown.allSatisfy { $0.audio == nil })
    }

    @Test("tracks that end and come back are discontinuities")
    func tracksChange() {
        var items: [MediaItem] = [.configuration(HLSProgram.video(1)), .configuration(HLSProgram.audio)]
        for index in Int64(0)..<1200 {
            let time = MediaTime.milliseconds(index * 50)
            // Pictures are missing from 20 s to 40 s.
            if !(400..<800).contains(index) {
                items.append(.frame(HLSProgram.picture(at: time, isIDR: index % 40 == 0, size: 40)))
            }
            for part in Int64(0)..<2 { items.append(.frame(HLSProgram.sound(at: time + .milliseconds(part * 25)))) }
        }
        var segmenter = ProgramSegmenter(segmentSeconds: 4)
        let segments = items.flatMap { segmenter.push($0, wallClock: 0) } + segmenter.finish()
        let kinds = segments.filter(\.isDiscontinuity).map { $0.video == nil }
        #expect(kinds == [true, false])
        #expect(segments.allSatisfy { Int($0.duration.inSeconds.rounded()) <= 4 })
        #expect(segments.first { $0.isDiscontinuity && $0.video != nil }?.start == .seconds(40))
    }

    @Test("what the relay left out is a discontinuity, and no part of a duration")
    func hole() {
        var items: [MediaItem] = [.configuration(HLSProgram.video(1)), .configuration(HLSProgram.audio)]
        for index in Int64(0)..<800 where !(245..<400).contains(index) {
            items.append(.frame(HLSProgram.picture(at: .milliseconds(index * 50), isIDR: index % 40 == 0, size: 40)))
            items.append(.frame(HLSProgram.sound(at: .milliseconds(index * 50))))
        }
        var segmenter = ProgramSegmenter(segmentSeconds: 4)
        let segments = items.flatMap { segmenter.push($0, wallClock: 0) } + segmenter.finish()
        #expect(segments.filter(\.isDiscontinuity).map(\.start) == [.seconds(20)])
        #expect(segments.first { $0.start == .seconds(12) }?.duration == .milliseconds(250))
    }
}
