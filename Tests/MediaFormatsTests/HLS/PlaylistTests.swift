import EncodedMedia
import MediaSupport
import TestSupport
import Testing

@testable import MediaFormats

@Suite struct PlaylistTests {
    @Test("every version of any live playlist keeps to RFC 8216, also across a restart")
    func versions() throws {
        var random = SeededGenerator(announcedFor: "live playlists")
        for _ in 0..<60 {
            let program = HLSProgram(&random, stretches: 5)
            let (segments, target) = program.segments(seconds: Int.random(in: 1...6, using: &random))
            var variant = PlaylistVariant(name: "video", targetDuration: target, keepsAll: false)
            var inspector = PlaylistInspector()
            let window = Int.random(in: 6...40, using: &random)
            var deleted: [String] = []
            let restart = Int.random(in: 0...segments.count, using: &random)
            for (index, segment) in segments.enumerated() {
                let now = 1_700_000_000_000 + (segment.start + segment.duration).roundedMilliseconds
                variant.append(
                    entry(variant.nextNumber, segment, isDiscontinuity: segment.isDiscontinuity || index == restart),
                    isIndependent: segment.isIndependent, window: window, now: now)
                inspector.take(variant.live.text())
                deleted += variant.takeExpired(now: now)
                // No playlist mentions a deleted file.
                #expect(Set(deleted).isDisjoint(with: variant.live.entries.map(\.uri)))
            }
            variant.end()
            inspector.take(variant.live.text())
            #expect(inspector.complaints == [])
            #expect(inspector.seen.count == segments.count)
            #expect(variant.live.duration <= Int64(max(window, 3 * target) + target + 1) * 1_000_000)
            #expect(variant.live.isIndependent == segments.allSatisfy(\.isIndependent))
        }
    }

    @Test("a kept program has all of its segments in a playlist that only grows")
    func event() {
        var random = SeededGenerator(announcedFor: "event playlists")
        let (segments, target) = HLSProgram(&random).segments()
        var variant = PlaylistVariant(name: "video", targetDuration: target, keepsAll: true)
        var inspector = PlaylistInspector()
        for segment in segments {
            variant.append(entry(variant.nextNumber, segment), isIndependent: true, window: 6, now: 0)
            inspector.take(variant.complete?.text(.event) ?? "")
        }
        #expect(inspector.complaints == [])
        #expect(inspector.newest?.kind == "EVENT")
        #expect(inspector.newest?.segments.count == segments.count)
        #expect(variant.takeExpired(now: .max) == [])
    }

    @Test("a segment is deleted when no player can have it in its playlist any more")
    func deletion() {
        var variant = PlaylistVariant(name: "video", targetDuration: 4, keepsAll: false)
        for number in 0..<10 {
            variant.append(
                PlaylistEntry(number: number, uri: "\(number).ts", duration: 4_000_000, wallClock: 0),
                isIndependent: true, window: 12, now: Int64(number) * 4000)
        }
        // Segment 0 was dropped with the fourth, at 12 s; the longest playlist was 16 s, and the segment itself 4 s.
        #expect(variant.takeExpired(now: 31_999) == [])
        #expect(variant.takeExpired(now: 32_000) == ["0.ts"])
        #expect(variant.live.entries.map(\.number) == [7, 8, 9])
    }

    @Test("the master playlist says what the newest segments need, and is no other for small changes")
    func master() {
        var variant = PlaylistVariant(name: "video", targetDuration: 4, keepsAll: false)
        let formats = [
            SegmentFormat(
                videoCodec: "avc1.42C01E", audioCodec: "mp4a.40.2", width: 360, height: 640, frameRate: 20_000),
            SegmentFormat(
                videoCodec: "avc1.64001F", audioCodec: "mp4a.40.2", width: 720, height: 1280, frameRate: 25_000),
        ]
        for number in 0..<4 {
            variant.append(
                PlaylistEntry(
                    number: number, uri: "\(number).ts", duration: 4_000_000, wallClock: 0,
                    bytes: 500_000 + number * 1000,
                    format: formats[number % 2]), isIndependent: true, window: 30, now: 0)
        }
        #expect(
            MasterPlaylist.text([variant]) == """
                #EXTM3U
                #EXT-X-VERSION:6
                #EXT-X-INDEPENDENT-SEGMENTS
                #EXT-X-STREAM-INF:BANDWIDTH=1100000,AVERAGE-BANDWIDTH=1100000,CODECS="avc1.64001F,mp4a.40.2",\
                RESOLUTION=720x1280,FRAME-RATE=25.000
                video.m3u8

                """)
    }

    @Test(
        "times are written as ISO 8601",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_400_123, "2000-02-29T00:00:00.123Z"),
            (1_795_301_525_067, "2026-11-21T22:52:05.067Z"), (-1, "1969-12-31T23:59:59.999Z"),
        ]) func dates(milliseconds: Int64, text: String)
    {
        #expect(CalendarTime(milliseconds: milliseconds).description == text)
    }

    private func entry(_ number: Int, _ segment: ProgramSegment, isDiscontinuity: Bool? = nil) -> PlaylistEntry {
        PlaylistEntry(
            number: number, uri: "video-\(number).ts", duration: segment.duration.nanoseconds / 1000,
            wallClock: segment.wallClock, isDiscontinuity: isDiscontinuity ?? segment.isDiscontinuity,
            bytes: segment.frames.reduce(0) { $0 + $1.payload.count }, format: SegmentFormat(segment))
    }
}
