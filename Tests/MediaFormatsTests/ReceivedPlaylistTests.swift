import TestSupport
import Testing

@testable import MediaFormats

/// Playlists of other servers, and the way they are followed.
@Suite struct ReceivedPlaylistTests {
    private func media(_ text: String) throws -> ReceivedSegments {
        guard case .media(let segments) = try ReceivedPlaylist(Array(text.utf8)) else {
            throw ReceivedPlaylist.Failure("is a master playlist")
        }
        return segments
    }

    private func live(_ numbers: Range<Int>, target: Int = 2, more: String = "", isEnded: Bool = false) throws
        -> ReceivedSegments
    {
        try media(
            "#EXTM3U\n#EXT-X-TARGETDURATION:\(target)\n#EXT-X-MEDIA-SEQUENCE:\(numbers.lowerBound)\n\(more)"
                + numbers.map { "#EXTINF:\(target).0,\n\($0).ts\n" }.joined() + (isEnded ? "#EXT-X-ENDLIST\n" : ""))
    }

    /// Returns the segment that the next step fetches.
    private func wanted(by follower: inout PlaylistFollower, beginsAnew expected: Bool) throws -> ReceivedSegment {
        guard case .fetch(let segment, let beginsAnew) = follower.step() else {
            throw ReceivedPlaylist.Failure("has no next segment")
        }
        #expect(beginsAnew == expected)
        return segment
    }

    private static func variant(_ rate: Int, _ size: String, _ codecs: String, _ uri: String) -> String {
        "#EXT-X-STREAM-INF:BANDWIDTH=\(rate),RESOLUTION=\(size),CODECS=\"\(codecs)\"\n\(uri)\n"
    }

    @Test func segmentsAreReadWithWhatBelongsToThem() throws {
        let list = try media(
            """
            #EXTM3U\r
            #EXT-X-VERSION:7\r
            #EXT-X-TARGETDURATION:6\r
            #EXT-X-MEDIA-SEQUENCE:41\r
            #EXT-X-MAP:URI="init.mp4",BYTERANGE="100@20"\r
            #EXTINF:5.5,a title, with a comma\r
            #EXT-X-BYTERANGE:1000@500\r
            all.mp4?k=1\r
            #EXTINF:6,\r
            #EXT-X-BYTERANGE:200\r
            all.mp4?k=1\r
            #EXT-X-DISCONTINUITY\r
            #EXT-X-KEY:METHOD=AES-128,URI="k,ey",IV=0x000102030405060708090A0B0C0D0E0F\r
            #EXTINF:6,\r
            https://other/x.mp4\r
            #EXT-X-KEY:METHOD=NONE\r
            #EXT-X-GAP\r
            #EXTINF:6,\r
            gone.mp4\r
            #EXT-X-ENDLIST\r
            """)
        #expect(list.targetDuration == 6 && list.isEnded && !list.isOnDemand)
        #expect(list.segments.map(\.number) == [41, 42, 43, 44])
        #expect(list.segments.map(\.resource.range) == [500..<1500, 1500..<1700, nil, nil])
        #expect(list.segments.map(\.duration) == [5.5, 6, 6, 6])
        #expect(list.segments.allSatisfy { $0.map == .init(uri: "init.mp4", range: 20..<120, key: nil) })
        #expect(list.segments.map(\.isDiscontinuity) == [false, false, true, false])
        #expect(list.segments.map(\.isGap) == [false, false, false, true])
        #expect(list.segments[2].resource.key == .init(uri: "k,ey", vector: Array(0...15)))
        #expect(list.segments[2].vector == Array(0...15))
        #expect(list.segments[1].resource.key == nil && list.segments[3].resource.key == nil)
        #expect(list.segments[1].vector == [UInt8](repeating: 0, count: 15) + [42])
    }

    @Test(arguments: [
        ("", "begin"), ("#EXTM3U\n", "neither"), ("<html>", "begin"),
        ("#EXTM3U\n#EXT-X-TARGETDURATION:x\n", "target duration"),
        ("#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:9223372036854775807\n", "sequence number"),
        ("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n#EXT-X-BYTERANGE:9223372036854775807@1\na\n", "byte range"),
        ("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"k\"\n#EXTINF:2,\na\n", "SAMPLE-AES"),
        ("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=0x1\n#EXTINF:2,\na\n", "16 bytes"),
    ])
    func whatCannotBeReadIsRefusedInWords(text: String, words: String) {
        #expect("\(text)") { _ = try ReceivedPlaylist(Array(text.utf8)) } throws: { "\($0)".contains(words) }
    }

    /// Ranges without an offset continue from the previous one. Enough of them would exceed the largest number.
    @Test func rangesThatGoOnNeverOverflow() throws {
        let text =
            "#EXTM3U\n#EXT-X-TARGETDURATION:2\n"
            + String(repeating: "#EXTINF:2,\n#EXT-X-BYTERANGE:\(1 << 48)\na\n", count: (1 << 15) + 2)
        guard case .media(let list) = try ReceivedPlaylist(Array(text.utf8)) else {
            Issue.record("not a media playlist")
            return
        }
        #expect(list.segments.first?.resource.range == 0..<1 << 48)
        #expect(list.segments.last?.resource.range?.upperBound == .max)
    }

    @Test func aPlaylistThatIsTooLargeIsNotRead() {
        let bytes = [UInt8](repeating: 0x0A, count: ReceivedPlaylist.longest + 1)
        #expect(throws: ReceivedPlaylist.Failure("is larger than 8 MiB")) { _ = try ReceivedPlaylist(bytes) }
    }

    /// The project's own HLS can be pulled.
    @Test func theOwnPlaylistsAreRead() throws {
        var written = MediaPlaylist(targetDuration: 4)
        for number in 7..<10 {
            written.append(
                PlaylistEntry(
                    number: number, uri: "s\(number).ts", duration: 4_000_000, wallClock: 0,
                    isDiscontinuity: number == 8),
                isIndependent: true)
        }
        let list = try media(written.text(.event))
        #expect(list.segments.map(\.number) == [7, 8, 9] && list.targetDuration == 4 && !list.isEnded)
        #expect(list.segments.map(\.isDiscontinuity) == [false, true, false])
    }

    @Test func theBestVariantWithinTheBoundsIsChosen() throws {
        func choose(_ lines: String) throws -> String? {
            guard case .master(let variants) = try ReceivedPlaylist(Array("#EXTM3U\n\(lines)".utf8)) else { return nil }
            return ReceivedVariant.choose(variants)?.uri
        }
        let h264 = "avc1.64001f,mp4a.40.2"
        let low = Self.variant(800_000, "640x360", h264, "low")
        let high = Self.variant(5_000_000, "1920x1080", h264, "high")
        let four = Self.variant(9_000_000, "3840x2160", h264, "four")
        #expect(try choose(low + high + four) == "high" && choose(four + low) == "low" && choose(four) == "four")
        #expect(try choose(low + Self.variant(6_000_000, "1920x1080", "hvc1.1.6.L93.B0,mp4a.40.2", "hevc")) == "low")
        #expect(try choose(Self.variant(6_000_000, "1920x1080", "hvc1.1.6.L93.B0", "hevc") + four) == "hevc")
        #expect(try choose("#EXT-X-STREAM-INF:BANDWIDTH=99999999999999999999\na\n") == "a")
    }

    @Test func theSoundOfAGroupIsTheOneForEverybody() throws {
        func sound(_ text: String) throws -> String? {
            guard case .master(let variants) = try ReceivedPlaylist(Array("#EXTM3U\n\(text)".utf8)) else { return nil }
            return variants.first?.sound
        }
        let variant = "#EXT-X-STREAM-INF:BANDWIDTH=9,AUDIO=\"g\"\nv\n"
        func rendition(_ uri: String, _ more: String = "", group: String = "g") -> String {
            "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"\(group)\",NAME=\"n\"\(uri.isEmpty ? "" : ",URI=\"\(uri)\"")\(more)\n"
        }
        #expect(try sound(rendition("one") + rendition("two") + variant) == "one")
        #expect(try sound(variant + rendition("one") + rendition("two", ",AUTOSELECT=YES")) == "two")
        #expect(try sound(rendition("one", ",AUTOSELECT=YES") + rendition("two", ",DEFAULT=YES") + variant) == "two")
        // The default sound is in the variant itself.
        #expect(try sound(rendition("", ",DEFAULT=YES") + rendition("two") + variant) == nil)
        #expect(try sound(rendition("one", group: "h") + variant) == nil && sound(variant) == nil)
    }

    /// A live playlist that has ended unchanged is not played, since its last segments would be repeated at each
    /// connection.
    @Test func aLivePlaylistThatWasLeftIsNotPlayed() throws {
        for (seconds, number) in [(nil, 17), (8.0, 17), (9.0, nil)] as [(Double?, Int64?)] {
            var follower = PlaylistFollower()
            follower.took(try live(10..<20), secondsUnchanged: seconds)
            guard let number else {
                #expect(follower.step() == .load(after: 2))
                follower.took(try live(10..<21), secondsUnchanged: 0)
                let segment = try wanted(by: &follower, beginsAnew: true)
                #expect(segment.number == 20)
                continue
            }
            let segment = try wanted(by: &follower, beginsAnew: true)
            #expect(segment.number == number)
        }
        var follower = PlaylistFollower()
        follower.took(try live(10..<20, isEnded: true), secondsUnchanged: 1e9)
        let first = try wanted(by: &follower, beginsAnew: true)
        #expect(first.number == 10, "on demand, however old")
    }

    @Test func aLivePlaylistIsBegunThreeTargetsBeforeItsEndAndFollowed() throws {
        var follower = PlaylistFollower()
        #expect(follower.step() == .load(after: 0))
        follower.took(try live(10..<20))
        var fetched: [Int64] = []
        while case .fetch(let segment, let beginsAnew) = follower.step() {
            #expect(beginsAnew == fetched.isEmpty)
            fetched.append(segment.number)
            follower.fetched(segment)
        }
        #expect(fetched == [17, 18, 19])
        #expect(follower.step() == .load(after: 2))
        follower.took(try live(10..<20))
        #expect(follower.step() == .load(after: 1), "unchanged: half of it")
        follower.took(try live(11..<21))
        let segment = try wanted(by: &follower, beginsAnew: false)
        #expect(segment.number == 20)
        follower.fetched(segment)
        follower.took(try live(11..<21, isEnded: true))
        #expect(follower.step() == .ended)
    }

    @Test func theServersDistanceAndAFirstSegmentOfAVODCount() throws {
        func start(_ list: ReceivedSegments) -> Int64? {
            var follower = PlaylistFollower()
            follower.took(list)
            if case .fetch(let segment, true) = follower.step() { return segment.number }
            return nil
        }
        #expect(try start(live(10..<20, more: "#EXT-X-SERVER-CONTROL:HOLD-BACK=7.5\n")) == 16)
        #expect(try start(live(10..<20, isEnded: true)) == 10)
        #expect(try start(live(10..<20, more: "#EXT-X-PLAYLIST-TYPE:VOD\n")) == 10)
        #expect(try start(live(10..<12)) == 10 && start(live(10..<10)) == nil)
    }

    @Test func whatIsGoneIsLeftOutAndWhatIsRefusedAfterThreeAttempts() throws {
        var follower = PlaylistFollower()
        follower.took(try live(10..<13))
        for _ in 0..<3 {
            let segment = try wanted(by: &follower, beginsAnew: true)
            #expect(segment.number == 10)
            follower.refused()
        }
        let segment = try wanted(by: &follower, beginsAnew: true)
        #expect(segment.number == 11)
        follower.fetched(segment)
        // The source was away for long: none of its former state is left.
        follower.took(try live(40..<50))
        let later = try wanted(by: &follower, beginsAnew: true)
        #expect(later.number == 47)
    }

    @Test func aServerThatCountsAnewIsFollowedButNotAnOldCache() throws {
        var follower = PlaylistFollower()
        follower.took(try live(10..<20))
        while case .fetch(let segment, _) = follower.step() { follower.fetched(segment) }
        follower.took(try live(9..<19))
        #expect(follower.step() == .load(after: 2))
        follower.took(try live(10..<21))
        let segment = try wanted(by: &follower, beginsAnew: false)
        #expect(segment.number == 20)
        follower.fetched(segment)
        for _ in 0..<3 { follower.took(try live(0..<3)) }
        let first = try wanted(by: &follower, beginsAnew: true)
        #expect(first.number == 0)
    }

    @Test func aNewFormatOrADiscontinuityBeginsAnew() throws {
        let list = try media(
            """
            #EXTM3U
            #EXT-X-TARGETDURATION:2
            #EXT-X-MAP:URI="a"
            #EXTINF:2,
            0
            #EXTINF:2,
            1
            #EXT-X-MAP:URI="b"
            #EXTINF:2,
            2
            #EXT-X-DISCONTINUITY
            #EXTINF:2,
            3
            #EXT-X-ENDLIST
            """)
        var follower = PlaylistFollower()
        follower.took(list)
        var anew: [Bool] = []
        while case .fetch(let segment, let beginsAnew) = follower.step() {
            anew.append(beginsAnew)
            follower.fetched(segment)
        }
        #expect(anew == [true, false, true, true])
    }

    @Test func anyBytesAreReadOrRefused() {
        var generator = SeededGenerator(announcedFor: "playlists")
        let words = [
            "#EXTM3U\n", "#EXT-X-TARGETDURATION:", "#EXTINF:", "#EXT-X-BYTERANGE:", "#EXT-X-KEY:METHOD=AES-128,URI=\"",
            "\n",
            "#EXT-X-MAP:URI=\"", "\"", ",", "=", "9", "@", "-", "#EXT-X-STREAM-INF:BANDWIDTH=", "IV=0x", "é", "\r",
            "1e999",
            "#EXT-X-MEDIA-SEQUENCE:4611686018427387904", "#EXT-X-ENDLIST\n", "x", "281474976710656",
        ]
        var follower = PlaylistFollower()
        for _ in 0..<3000 {
            let text =
                "#EXTM3U\n#EXT-X-TARGETDURATION:2\n"
                + (0..<Int.random(in: 0..<40, using: &generator)).map { _ in
                    words.randomElement(using: &generator) ?? ""
                }
                .joined()
            guard case .media(let list) = try? ReceivedPlaylist(Array(text.utf8)) else { continue }
            follower.took(list)
            for _ in 0..<60 {
                guard case .fetch(let segment, _) = follower.step() else { break }
                follower.fetched(segment)
            }
        }
    }
}
