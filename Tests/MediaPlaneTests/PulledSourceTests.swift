import MixModel
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramRelay
@testable import RTMP

/// What operators are told of a source, and when.
@Suite struct PulledSourceTests {
    private final class NoPull: SourcePull {
        func stop() {}
        func close() async {}
    }

    private func source(connected time: MediaTime = .zero) -> PulledSource {
        var source = PulledSource(
            planned: PlannedSource(id: "bob/camera", url: "rtmp://127.0.0.1/live/bob", audio: true, video: true),
            now: .zero)
        source.connected(NoPull(), now: time)
        return source
    }

    /// An FLV stream's beginning: header, then one audio packet of this format (10 = AAC, 2 = MP3).
    private func audio(format: UInt8, withHeader: Bool = true) -> [UInt8] {
        let tag = FLVTag(role: .frame(.audio, isIDR: false), timestamp: 0, body: [format << 4 | 0x0F, 1, 0])
        return (withHeader ? FLVTag.fileHeader : []) + tag.encoded
    }

    @Test func whoDoesNotConnectIsToldOfOnce() {
        var source = source()
        source.ended(reason: "refused", now: .milliseconds(50))
        #expect(source.news(now: .milliseconds(50))?.message == "bob/camera: refused")
        #expect(source.status(now: .milliseconds(60)).state == .recovering)
        for attempt in stride(from: 1.0, to: 20, by: 1) {
            source.connected(NoPull(), now: .seconds(attempt))
            source.ended(reason: "refused", now: .seconds(attempt))
            #expect(source.news(now: .seconds(attempt)) == nil)
            #expect(source.status(now: .seconds(attempt)).error == "refused")
        }
    }

    @Test func aServerThatSendsNothingIsToldOfBeforeItEnds() {
        var source = source()
        #expect(source.status(now: .seconds(5)).error == nil)
        #expect(source.status(now: .seconds(7)).error?.contains("is this stream being published?") == true)
        source.ended(reason: ConnectionFault.endOfStream, now: .seconds(15))
        #expect(source.status(now: .seconds(15)).error?.contains("is this stream being published?") == true)
    }

    @Test func absenceBeginsAfterAWhileAndEndsWithTheFirstFrame() {
        var source = source()
        #expect(!source.isAbsent(now: .seconds(2)))
        #expect(source.isAbsent(now: .seconds(3)))
        for item in source.read(audio(format: 10), now: .seconds(4)) {
            _ = source.timeline.accept(
                .configuration(CodecConfiguration(track: .audio, bytes: [0x11, 0x90])), arrival: .seconds(4),
                isOnAir: false)
            _ = source.timeline.accept(item, arrival: .seconds(4), isOnAir: false)
        }
        #expect(!source.isAbsent(now: .seconds(4)))
    }

    @Test func anUnsupportedCodecIsNamedAndLeftOutUntilItHasGoneForGood() {
        var source = source()
        #expect(source.read(audio(format: 2), now: .seconds(1)).isEmpty)
        #expect(source.status(now: .seconds(1)).state == .failed)
        #expect(source.news(now: .seconds(1))?.message.contains("MP3") == true)
        #expect(source.isAbsent(now: .seconds(1)))
        #expect(!source.isDue(now: .seconds(10)) && source.isDue(now: .seconds(12)))
        source.connected(NoPull(), now: .seconds(12))
        // The other track may still be what it was.
        _ = source.read(audio(format: 10), now: .seconds(12))
        #expect(source.status(now: .seconds(12)).state == .failed)
        _ = source.read(audio(format: 10, withHeader: false), now: .seconds(14))
        #expect(source.status(now: .seconds(14)).error == nil)
    }

    @Test func whoHasTheCameraOffIsLiveWhileHeardAndDecodableAtOnce() {
        var source = source()
        #expect(!source.fact(now: .seconds(1)).isDecodable)
        source.planned.video = false
        for (index, item) in source.read(audio(format: 10), now: .seconds(1)).enumerated() {
            if index == 0 {
                _ = source.timeline.accept(
                    .configuration(CodecConfiguration(track: .audio, bytes: [0x11, 0x90])), arrival: .seconds(1),
                    isOnAir: false)
            }
            _ = source.timeline.accept(item, arrival: .seconds(1), isOnAir: false)
        }
        #expect(source.fact(now: .seconds(1)).isDecodable && !source.fact(now: .seconds(1)).hasVideo)
        #expect(source.status(now: .seconds(1)).state == .live && source.status(now: .seconds(1)).pictureSize == nil)
        #expect(source.status(now: .seconds(3)).state == .stalled)
        source.planned.video = true
        #expect(!source.fact(now: .seconds(1)).isDecodable, "servers send sound before the first keyframe")
    }
}
