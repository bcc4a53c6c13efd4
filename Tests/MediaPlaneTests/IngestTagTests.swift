import EncodedMedia
import Testing

@testable import MediaFormats
@testable import StreamIngest

/// The tags that the ingest keeps of a stream, and those that it sends to a player.
@Suite struct IngestTagTests {
    private static func frame(_ timestamp: UInt32, isIDR: Bool = false, size: Int = 100) -> OutputTag {
        OutputTag(
            FLVTag(role: .frame(.video, isIDR: isIDR), timestamp: timestamp, body: [UInt8](repeating: 0, count: size)))
    }
    private static let video = OutputTag(FLVTag(role: .sequenceHeader(.video), timestamp: 0, body: [1]))
    private static let sound = OutputTag(FLVTag(role: .frame(.audio, isIDR: false), timestamp: 3, body: [1]))

    @Test func allCachesTogetherAreBounded() {
        #expect(TagCache.Limits.bytes(ofEachOf: 0) == 8 << 20 && TagCache.Limits.bytes(ofEachOf: 256) == 8 << 20)
        for streams in [257, 500, IngestMachine.Limits().streams] {
            #expect(TagCache.Limits.bytes(ofEachOf: streams) * streams <= 2 << 30)
        }
        #expect(TagCache.Limits.bytes(ofEachOf: IngestMachine.Limits().streams) >= 2 << 20, "a keyframe has a place")
    }

    @Test func theCacheHoldsAGroupWithinItsBounds() {
        var cache = TagCache(limits: .init(bytes: 2000, milliseconds: 1000))
        cache.append(Self.video.tag)
        cache.append(Self.frame(0).tag)
        #expect(cache.group.isEmpty, "no group begins without a keyframe")
        cache.append(Self.frame(40, isIDR: true).tag)
        cache.append(Self.frame(80).tag)
        cache.append(Self.sound.tag)
        #expect(cache.group.map(\.timestamp) == [40, 80, 3])
        #expect(cache.preamble(at: 9).map(\.timestamp) == [40, 40, 80, 3])
        cache.append(Self.frame(1041).tag)
        #expect(cache.group.isEmpty && cache.bytes == 0, "too long")
        #expect(cache.preamble(at: 9).map(\.timestamp) == [9])
        cache.append(Self.frame(2000, isIDR: true, size: 1000).tag)
        cache.append(Self.frame(2040, size: 1000).tag)
        #expect(cache.group.isEmpty && cache.bytes == 0, "too large")
    }

    /// A relay that connects during a pause learns of it, and gets no picture from before it.
    @Test func aPauseDropsThePicturesBeforeIt() {
        var metadata = FLVMetadata(video: nil, audio: nil, framesPerSecond: nil)
        var cache = TagCache()
        for tag in [Self.video, Self.frame(40, isIDR: true)] { cache.append(tag.tag) }
        cache.append(FLVTag(role: .metadata, timestamp: 50, body: metadata.body))
        #expect(cache.group.count == 1)
        metadata.isPaused = true
        let notice = FLVTag(role: .metadata, timestamp: 60, body: metadata.body)
        cache.append(notice)
        #expect(cache.group.isEmpty && cache.bytes == 0 && cache.hasPictures)
        #expect(cache.preamble(at: 60).map(\.tag).first == notice && cache.preamble(at: 60).count == 2)
    }

    @Test func timestampsGoOnWithAnotherPublisher() {
        var times = StreamTimes()
        #expect(times.map(0, isFrame: false, now: 0) == 0)
        #expect(times.map(5000, isFrame: true, now: 1_000_000) == 5000)
        #expect(times.map(5040, isFrame: true, now: 41_000_000) == 5040)
        times.restart()
        // Two seconds later, at an independent time.
        let now: Int64 = 2_041_000_000
        #expect(times.map(0, isFrame: false, now: now) == 7040)
        #expect(times.map(90, isFrame: true, now: now) == 7040)
        #expect(times.map(130, isFrame: true, now: now + 40_000_000) == 7080)
        #expect(times.map(70, isFrame: true, now: now + 40_000_000) == 7020, "B-frames and sound keep their distance")
        times.restart()
        #expect(times.map(.max, isFrame: true, now: .max) != 0, "nothing traps")
    }

    @Test func aSlowPlayerGetsWholeGroupsOrLeaves() {
        var flow = PlayerFlow(limits: .init(bytes: 1000, patience: 10), waitsForKeyframe: true)
        func decide(_ tag: OutputTag, _ queued: Int = 0, _ now: Int64 = 0) -> PlayerFlow.Decision {
            flow.decide(tag, queued: queued, hasVideo: true, now: now)
        }
        #expect(decide(Self.video) == .send)
        #expect(decide(Self.frame(0)) == .leaveOut)
        #expect(decide(Self.frame(40, isIDR: true)) == .send)
        #expect(flow.isPlain)
        #expect(decide(Self.frame(80), 1001, 5) == .leaveOut)
        #expect(decide(Self.video, 900, 6) == .leaveOut)
        #expect(decide(Self.frame(120, isIDR: true), 900, 7) == .leaveOut)
        #expect(decide(Self.sound, 100, 8) == .leaveOut, "it reads again, but there is no keyframe")
        #expect(decide(Self.frame(160, isIDR: true), 100, 9) == .sendWithHeaders)
        #expect(decide(Self.frame(200), 100, 9) == .send)
        #expect(decide(Self.frame(240), 1001, 10) == .leaveOut)
        #expect(decide(Self.frame(240), 1001, 20) == .leaveOut)
        #expect(decide(Self.frame(240), 1001, 21) == .disconnect)
        #expect(flow.leftOut == 7)
    }
}
