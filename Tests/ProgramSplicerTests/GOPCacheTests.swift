import MediaSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramSplicer

@Suite struct GOPCacheTests {
    private func frame(_ track: Track, _ milliseconds: Int, isIDR: Bool = false) -> EncodedFrame {
        EncodedFrame(
            track: track, pts: .milliseconds(milliseconds), dts: .milliseconds(milliseconds), isIDR: isIDR, payload: [1]
        )
    }

    @Test func picturesFromBeforeTheCameraWentOffAreNoBeginning() {
        var cache = GOPCache()
        cache.append(frame(.video, 0, isIDR: true))
        for time in stride(from: 50, to: 1000, by: 50) { cache.append(frame(.video, time)) }
        // From here on there is only sound, for an hour.
        for time in stride(from: 1000, to: 3_600_000, by: 20) {
            cache.append(frame(.audio, time))
            #expect(cache.hasIDR == (time <= 10_950))
        }
        #expect(cache.frames.allSatisfy { $0.track == .audio })
        // The cache keeps at most two seconds of it.
        #expect(cache.frames.count <= 101)
        cache.append(frame(.video, 3_600_000))
        #expect(!cache.hasIDR)
        cache.append(frame(.video, 3_600_050, isIDR: true))
        #expect(cache.hasIDR && cache.frames.last?.isIDR == true)
    }

    @Test func slowPicturesStay() {
        var cache = GOPCache()
        cache.append(frame(.video, 0, isIDR: true))
        for time in stride(from: 20, to: 60_000, by: 20) {
            cache.append(frame(time % 5000 == 0 ? .video : .audio, time))
            #expect(cache.hasIDR)
        }
    }

    /// A mixer, a recorder or an operator who begins with the group gets only the newest configuration.
    @Test func audioOfAnEarlierFormatIsNotKept() {
        var timeline = SourceTimeline()
        func accept(_ items: MediaItem..., at milliseconds: Int) {
            for item in items { _ = timeline.accept(item, arrival: .milliseconds(milliseconds)) }
        }
        let format = CodecConfiguration(track: .audio, bytes: [0x11, 0x90])
        accept(.configuration(CodecConfiguration(.h264, bytes: [1])), .configuration(format), at: 0)
        accept(.frame(frame(.audio, 0)), .frame(frame(.video, 0, isIDR: true)), .frame(frame(.audio, 20)), at: 20)
        accept(.configuration(format), at: 30)
        #expect(timeline.currentGOP.map(\.track) == [.audio, .video, .audio])
        accept(.configuration(CodecConfiguration(track: .audio, bytes: [0x12, 0x10])), at: 40)
        #expect(timeline.currentGOP.map(\.track) == [.video] && timeline.hasKeyframe)
        accept(.frame(frame(.audio, 40)), .frame(frame(.video, 40)), at: 40)
        #expect(timeline.currentGOP.map(\.track) == [.video, .audio, .video])
    }

    // MARK: Open groups of H.264

    /// Returns a recovery point after `count` pictures, in front of a slice of this type (ITU-T H.264 table 7-6).
    private func picture(_ milliseconds: Int, recoversAfter count: UInt8?, slice: UInt8, size: Int = 1) -> EncodedFrame
    {
        // ue(v) of 0 and 1 are the bits 1 and 010. A slice begins with its first macroblock, 0, and its type: 00110 for
        // 5, 0001000 for 7.
        let message: [UInt8] = count.map { [0, 0, 0, 5, 6, 6, 1, $0 == 0 ? 0x80 : 0x40, 0x80] } ?? []
        let data = [0x41, slice == 7 ? 0x88 : 0x98] + [UInt8](repeating: 0x80, count: size)
        let length = (0..<4).map { UInt8(truncatingIfNeeded: data.count >> (24 - 8 * $0)) }
        return EncodedFrame(
            track: .video, pts: .milliseconds(milliseconds), dts: .milliseconds(milliseconds),
            payload: message + length + data)
    }

    private var cache: GOPCache {
        var cache = GOPCache()
        cache.pictures = VideoConfiguration(HLSProgram.video(0))
        return cache
    }

    @Test func aDecoderBeginsWithAnOpenGroup() {
        var cache = cache
        for index in 0..<5 {
            cache.append(frame(.audio, index * 400))
            cache.append(picture(index * 400 + 10, recoversAfter: nil, slice: 7))
        }
        // Intra refresh, of which a decoder needs more pictures, and a picture that cannot be complete.
        cache.append(picture(2000, recoversAfter: 1, slice: 7))
        cache.append(picture(2040, recoversAfter: 0, slice: 5))
        #expect(!cache.isDecodable && cache.frames.allSatisfy { $0.track == .audio })
        let first = picture(2080, recoversAfter: 0, slice: 7)
        cache.append(first)
        cache.append(picture(2120, recoversAfter: nil, slice: 5))
        #expect(cache.isDecodable && !cache.hasIDR)
        #expect(cache.frames.first?.pts == .milliseconds(1200) && cache.frames.first { $0.track == .video } == first)
        // The next recovery point, and a keyframe, start it anew.
        cache.append(picture(3080, recoversAfter: 0, slice: 7))
        #expect(cache.frames.count { $0.track == .video } == 1 && !cache.hasIDR)
        cache.append(frame(.video, 3120, isIDR: true))
        #expect(cache.frames.count { $0.track == .video } == 1 && cache.hasIDR)
        cache.append(picture(3160, recoversAfter: 0, slice: 7))
        #expect(cache.frames.count { $0.track == .video } == 2 && cache.hasIDR, "a bypass can begin with it")
    }

    @Test func aGroupThatIsTooLargeIsKeptFromItsLastOpenGroupOn() {
        var cache = cache
        cache.append(frame(.video, 0, isIDR: true))
        for index in 1...400 {
            let isFirst = index % 50 == 0
            cache.append(
                picture(index * 40, recoversAfter: isFirst ? 0 : nil, slice: isFirst ? 7 : 5, size: 100_000))
            #expect(cache.isDecodable, "\(index)")
            #expect(cache.frames.reduce(0) { $0 + $1.footprint } <= GOPCache.byteLimit)
        }
        #expect(!cache.hasIDR && cache.frames.first?.pts == .milliseconds(16_000))
        // A group that is too large itself is not kept.
        for index in 401...800 { cache.append(picture(index * 40, recoversAfter: nil, slice: 5, size: 100_000)) }
        #expect(!cache.isDecodable && cache.frames.isEmpty)
    }
}
