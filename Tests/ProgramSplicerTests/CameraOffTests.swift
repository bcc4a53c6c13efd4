import MediaSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramSplicer

/// A participant whose pictures stop while their sound goes on, without any report that the camera is off.
@Suite struct CameraOffTests {
    private static func accept(
        _ track: Track, _ milliseconds: Int, isIDR: Bool = false, _ timeline: inout SourceTimeline
    ) {
        let time = MediaTime.milliseconds(milliseconds)
        let payload: [UInt8] = track == .audio ? [0x21] : [0, 0, 0, 2, isIDR ? 0x65 : 0x41, 1]
        let frame = EncodedFrame(track: track, pts: time, dts: time, isIDR: isIDR, payload: payload)
        _ = timeline.accept(.frame(frame), arrival: time)
    }

    @Test("A mixer that begins later can still begin with their sound")
    func camera() {
        var timeline = SourceTimeline()
        for configuration in [HLSProgram.video(0), HLSProgram.audio] {
            _ = timeline.accept(.configuration(configuration), arrival: .zero)
        }
        func isDecodable(at milliseconds: Int) -> Bool { timeline.isDecodable(at: .milliseconds(milliseconds)) }
        for time in stride(from: 0, through: 1000, by: 40) { Self.accept(.video, time, isIDR: time == 0, &timeline) }
        // Three frames of AAC each time.
        for time in stride(from: 1024, through: 30_016, by: 64) {
            Self.accept(.audio, time, &timeline)
            #expect(isDecodable(at: time), "\(time) ms")
        }
        #expect(!timeline.hasKeyframe, "and what is kept is sound")
        // The camera is on again, and its first pictures cannot be decoded.
        Self.accept(.video, 30_040, &timeline)
        Self.accept(.audio, 30_080, &timeline)
        #expect(!isDecodable(at: 30_080))
        Self.accept(.video, 31_000, isIDR: true, &timeline)
        #expect(isDecodable(at: 31_000) && timeline.hasKeyframe)
    }

    @Test("One of whom only a header has come is heard after some seconds")
    func header() {
        var timeline = SourceTimeline()
        for configuration in [HLSProgram.video(0), HLSProgram.audio] {
            _ = timeline.accept(.configuration(configuration), arrival: .zero)
        }
        for time in stride(from: 0, through: 6000, by: 20) {
            Self.accept(.audio, time, &timeline)
            #expect(timeline.isDecodable(at: .milliseconds(time)) == (time > 4000), "\(time) ms")
        }
    }

    @Test("One whose sound stops as well is not")
    func silence() {
        var timeline = SourceTimeline()
        for configuration in [HLSProgram.video(0), HLSProgram.audio] {
            _ = timeline.accept(.configuration(configuration), arrival: .zero)
        }
        Self.accept(.audio, 0, &timeline)
        Self.accept(.video, 0, &timeline)
        #expect(!timeline.isDecodable(at: .seconds(60)))
    }
}
