import EncodedMedia
import TestSupport
import Testing

@testable import ProgramSplicer

@Suite struct RepeatedGroupTests {
    private static let interval = MediaTime.milliseconds(50)
    private static let sound = MediaTime.units(1024, rate: 48000)

    private static func picture(_ index: Int, idr: Bool, size: Int = 100) -> EncodedFrame {
        EncodedFrame(
            track: .video, pts: .milliseconds(index * 50), dts: .milliseconds(index * 50), isIDR: idr,
            payload: [UInt8](repeating: UInt8(index % 40), count: size))
    }

    /// Returns a group of 40 pictures, recorded from a mixer, that begins at 4 s.
    private static func group(silence: [UInt8]? = [9]) throws -> RepeatedGroup {
        var recorder = GroupRecorder()
        // The recording starts in the middle of a group, whose rest is of no use.
        for index in 30..<80 {
            let early = recorder.take(picture(index, idr: index % 40 == 0), silence: silence)
            #expect(early == nil)
        }
        let group = recorder.take(picture(80, idr: true), silence: silence)
        return try #require(group)
    }

    @Test func picturesAndSoundGoOnWithoutAStep() throws {
        var group = try Self.group()
        var frames: [EncodedFrame] = []
        let start = MediaTime.milliseconds(3990)
        for tick in 0...400 {
            frames += group.take(until: .milliseconds(4000 + tick * 50), sound: (start, Self.sound))
        }
        let pictures = frames.filter { $0.track == .video }
        // The group is repeated from 4 s to 24 s, both included.
        #expect(pictures.count == 401)
        for (index, picture) in pictures.enumerated() {
            #expect(picture.pts == .milliseconds(4000 + index * 50) && picture.dts == picture.pts)
            #expect(picture.isIDR == (index % 40 == 0))
            #expect(picture.payload[0] == UInt8((40 + index) % 40), "the pictures of the group, in order")
        }
        let sounds = frames.filter { $0.track == .audio }
        #expect(sounds.first?.pts == start && sounds.allSatisfy { $0.payload == [9] })
        let steps = zip(sounds, sounds.dropFirst()).map { $1.pts - $0.pts }
        #expect(steps.allSatisfy { $0 == Self.sound } && sounds.count == 938)
        #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.pts <= $1.pts }, "in the order of their times")
    }

    @Test func nothingIsSentFromItsEndOn() throws {
        var group = try Self.group()
        group.end = .milliseconds(4300)
        let frames = group.take(until: .seconds(9), sound: (.seconds(4), Self.sound))
        #expect(frames.filter { $0.track == .video }.last?.pts == .milliseconds(4250))
        #expect(frames.allSatisfy { $0.pts < .milliseconds(4300) })
        let none = group.take(until: .seconds(9), sound: nil)
        #expect(none.isEmpty)
        group.end = nil
        let more = group.take(until: .milliseconds(4300), sound: nil)
        #expect(more.first?.pts == .milliseconds(4300))
    }

    /// Requested keyframes cause no step and no two IDRs in a row, and leave the regular IDRs in place.
    @Test func viewersGetKeyframesInBetween() throws {
        var random = SeededGenerator(announcedFor: "keyframes of a slate")
        var group = try Self.group(silence: nil)
        var pictures: [EncodedFrame] = []
        var asked = 0
        for tick in 0..<4000 {
            if Int.random(in: 0..<8, using: &random) == 0 {
                group.requestKeyframe()
                asked += 1
            }
            let frames = group.take(until: .milliseconds(4000 + tick * 50), sound: nil)
            pictures += frames
        }
        #expect(pictures.map(\.pts) == (0..<4000).map { .milliseconds(4000 + $0 * 50) })
        for (index, picture) in pictures.enumerated() {
            #expect(index % 40 != 0 || picture.isIDR)
            // Each picture continues the previous one or is an IDR.
            let last = index > 0 ? pictures[index - 1] : picture
            #expect(picture.isIDR ? !last.isIDR || index == 0 : picture.payload[0] == last.payload[0] + 1)
        }
        let keyframes = pictures.count(where: \.isIDR)
        print("\(asked) requests, \(keyframes) IDRs")
        #expect(keyframes > 300)
    }

    /// A keyframe requested 0.5 s before the regular one does not begin a group.
    @Test func aKeyframeOfAViewerIsNoGroup() {
        var recorder = GroupRecorder()
        var groups: [RepeatedGroup] = []
        for index in 0...40 {
            let group = recorder.take(Self.picture(index, idr: index == 0 || index == 10 || index == 40), silence: nil)
            if let group { groups.append(group) }
        }
        #expect(groups.map(\.nextPicture) == [.milliseconds(2000)])
        let frames = groups[0].take(until: .seconds(6), sound: nil)
        #expect(frames.enumerated().allSatisfy { $1.isIDR == ($0 % 40 == 0 || $0 % 40 == 10) })
    }

    @Test func aProgramWithoutSoundHasPicturesAlone() throws {
        var group = try Self.group(silence: nil)
        let frames = group.take(until: .seconds(5), sound: (.seconds(4), Self.sound))
        #expect(frames.allSatisfy { $0.track == .video })
    }

    /// After a pause of the process the slate catches up in pieces.
    @Test func aLongPauseIsCaughtUpInPieces() throws {
        var group = try Self.group()
        var last = MediaTime.zero
        for _ in 0..<100 {
            let frames = group.take(until: .seconds(200), sound: (.seconds(4), Self.sound))
            #expect(frames.count <= RepeatedGroup.mostFrames)
            last = frames.last?.pts ?? last
        }
        #expect(last >= .milliseconds(199_970))
    }

    @Test func whatCannotBeRepeatedIsNotRecorded() {
        var recorder = GroupRecorder()
        // Only IDRs: two with the same number would be adjacent.
        for index in 0..<10 {
            let group = recorder.take(Self.picture(index, idr: true), silence: nil)
            #expect(group == nil)
        }
        // Reordered pictures.
        recorder = GroupRecorder()
        for index in 0..<100 {
            var picture = Self.picture(index, idr: index % 20 == 0)
            if index % 20 == 5 { picture.pts += Self.interval }
            let group = recorder.take(picture, silence: nil)
            #expect(group == nil)
        }
        // A group that is too large for a still picture.
        recorder = GroupRecorder()
        for index in 0..<100 {
            let picture = Self.picture(index, idr: index % 40 == 0, size: 1 << 20)
            let group = recorder.take(picture, silence: nil)
            #expect(group == nil)
        }
    }
}
