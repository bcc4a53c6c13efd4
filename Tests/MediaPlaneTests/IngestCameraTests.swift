import EncodedMedia
import Testing

@testable import MediaFormats
@testable import RTMP
@testable import StreamIngest

/// A publisher whose pictures stop while the sound goes on.
@Suite struct IngestCameraTests {
    private static func tag(_ role: FLVTag.Role, _ timestamp: UInt32) -> FLVTag {
        FLVTag(role: role, timestamp: timestamp, body: [1, 2])
    }

    @Test func nobodyWaitsForPicturesOfACameraThatIsOff() {
        // The timestamps have started again meanwhile.
        let start = UInt32.max - 5000
        var cache = TagCache()
        cache.append(Self.tag(.frame(.audio, isIDR: false), start))
        #expect(!cache.hasPictures)
        cache.append(Self.tag(.sequenceHeader(.video), start))
        #expect(cache.hasPictures)
        cache.append(Self.tag(.frame(.video, isIDR: true), start &+ 40))
        for time in stride(from: UInt32(60), through: 30_000, by: 20) {
            cache.append(Self.tag(.frame(.audio, isIDR: false), start &+ time))
            #expect(cache.hasPictures == (time <= 10_040), "\(time) ms")
        }
        #expect(cache.group.isEmpty && cache.video != nil)
        // A relay that connects now gets the sound.
        var flow = PlayerFlow(waitsForKeyframe: cache.hasPictures && cache.group.isEmpty)
        let sound = OutputTag(Self.tag(.frame(.audio, isIDR: false), start &+ 30_020))
        #expect(flow.decide(sound, queued: 0, hasVideo: cache.hasPictures, now: 0) == .send)
        cache.append(Self.tag(.frame(.video, isIDR: true), start &+ 31_000))
        #expect(cache.hasPictures && cache.group.count == 1)
    }
}
