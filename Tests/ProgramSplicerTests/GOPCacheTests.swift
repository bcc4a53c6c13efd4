import Testing

@testable import EncodedMedia
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
        // Sound alone from here on, for an hour.
        for time in stride(from: 1000, to: 3_600_000, by: 20) {
            cache.append(frame(.audio, time))
            #expect(cache.hasIDR == (time <= 10_950))
        }
        #expect(cache.frames.allSatisfy { $0.track == .audio })
        // Two seconds of it, at most.
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
}
