import MediaSupport
import TestSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats

/// Start times of a segment's tracks.
@Suite struct SegmentStartTests {
    @Test(arguments: [0, 95_443, 345_600]) func theFirstFrameOfEachTrackTells(second: Int) {
        let origin = MediaTime.seconds(Double(second))
        var frames: [EncodedFrame] = []
        for index in 0..<30 {
            let decoding = origin + .milliseconds(index * 40)
            frames.append(
                HLSProgram.picture(at: decoding + .milliseconds(80), dts: decoding, isIDR: index == 0, size: 900))
            frames.append(HLSProgram.sound(at: origin + .milliseconds(500 + index * 21)))
        }
        var writer = TransportStreamWriter()
        let bytes = writer.segment(frames, video: HLSProgram.video(1), audio: HLSProgram.audio)
        func ticks(_ time: MediaTime) -> Int64 { TransportStreamWriter.ticks(time) & (SegmentStart.period - 1) }
        #expect(SegmentStart.ticks(of: .video, in: bytes) == ticks(origin + .milliseconds(80)))
        #expect(SegmentStart.ticks(of: .audio, in: bytes) == ticks(origin + .milliseconds(500)))
    }

    @Test func packedSoundHasItsTimeInATag() {
        let owner = Array("com.apple.streaming.transportStreamTimestamp\0".utf8)
        let head = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 63] + Array("PRIV".utf8) + [0, 0, 0, 53, 0, 0]
        #expect(
            SegmentStart.ticks(of: .audio, in: head + owner + [0, 0, 0, 1, 0, 0, 0, 2, 0xFF, 0xF1]) == 4_294_967_298)
        #expect(SegmentStart.ticks(of: .audio, in: head + owner + [0, 0, 0]) == nil)
        #expect(SegmentStart.ticks(of: .audio, in: head) == nil)
    }

    @Test func anyBytesAreReadOrNot() {
        var generator = SeededGenerator(announcedFor: "segments")
        let frames = [HLSProgram.picture(at: .zero, isIDR: true, size: 3000), HLSProgram.sound(at: .zero)]
        var writer = TransportStreamWriter()
        let whole = writer.segment(frames, video: HLSProgram.video(1), audio: HLSProgram.audio)
        for _ in 0..<2000 {
            var bytes = Array(whole.prefix(Int.random(in: 0...whole.count, using: &generator)))
            for _ in 0..<8 where !bytes.isEmpty {
                bytes[Int.random(in: bytes.indices, using: &generator)] = .random(in: 0 ... .max, using: &generator)
            }
            for track in Track.allCases {
                if let ticks = SegmentStart.ticks(of: track, in: bytes) { #expect(0..<SegmentStart.period ~= ticks) }
            }
        }
        #expect(SegmentStart.ticks(of: .video, in: Array("....ftypiso5".utf8)) == nil)
    }
}
