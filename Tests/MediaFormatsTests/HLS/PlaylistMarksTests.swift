import Foundation
import Testing

@testable import MediaFormats

/// Messages for players and pauses, in playlists as written.
@Suite struct PlaylistMarksTests {
    /// Start of segments of 4 s each, at 20:00:00.
    private static let start: Int64 = 1_769_889_600_000

    private static func playlist(_ numbers: Range<Int>, isEnded: Bool = false, breaks: Set<Int> = []) -> MediaPlaylist {
        var playlist = MediaPlaylist(targetDuration: 4)
        for number in numbers {
            playlist.append(
                PlaylistEntry(
                    number: number, uri: "video-\(number).ts", duration: 4_000_000,
                    wallClock: start + Int64(number) * 4000, isDiscontinuity: breaks.contains(number)),
                isIndependent: true)
        }
        playlist.isEnded = isEnded
        return playlist
    }

    private static func range(_ id: String, at seconds: Double, duration: Double = 5) throws -> DateRange {
        try #require(
            DateRange(
                id: id, start: start + Int64(seconds * 1000), duration: Int64(duration * 1000),
                attribute: "X-100MSLIVE-PAYLOAD", value: "eyJh"))
    }

    private static func names(_ text: String) -> [String] {
        text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { String($0.dropFirst(6).dropLast(3)) }
    }

    @Test func theTagIsAsPlayersReadIt() throws {
        let text = try Self.range("a", at: 1.25, duration: 5.007).text
        #expect(
            text == "#EXT-X-DATERANGE:ID=\"a\",START-DATE=\"2026-01-31T20:00:01.250Z\",DURATION=5.007,"
                + "X-100MSLIVE-PAYLOAD=\"eyJh\"\n")
        // The expression with which 100ms' player for Android parses it.
        let parts = try #require(
            text.dropLast().firstMatch(
                of: /#EXT-X-DATERANGE:ID="(.*)",START-DATE="(.*)",DURATION=(.*),X-100MSLIVE-PAYLOAD="(.*)"/))
        #expect(parts.1 == "a" && parts.3 == "5.007" && parts.4 == "eyJh")
    }

    @Test func whatCannotBeInAPlaylistIsNoRange() throws {
        for (id, start, duration, attribute, value) in [
            ("a\"", 0, 0, "X-A", "v"), ("", 0, 0, "X-A", "v"), ("a", 0, 0, "X-A", "v\n#EXT-X-ENDLIST"),
            ("a", 0, 0, "A", "v"), ("a", 0, 0, "X-a", "v"), ("a", -1, 0, "X-A", "v"), ("a", 0, -1, "X-A", "v"),
            ("a", Int64.max, 0, "X-A", "v"), ("a", 1, Int64.max, "X-A", "v"), ("a", 0, 0, "X-A", "ä"),
            ("a", 0, 0, "X-A", String(repeating: "v", count: DateRange.longestValue + 1)),
        ] as [(String, Int64, Int64, String, String)] {
            #expect(DateRange(id: id, start: start, duration: duration, attribute: attribute, value: value) == nil)
        }
        let range = try Self.range("a", at: 0)
        let data = try JSONEncoder().encode(range)
        #expect(try JSONDecoder().decode(DateRange.self, from: data) == range)
        let damaged = Data(String(decoding: data, as: UTF8.self).replacing("eyJh", with: "e\\n#").utf8)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(DateRange.self, from: damaged) }
    }

    @Test func textsStandBeforeTheirSegments() throws {
        var marks = PlaylistMarks()
        for (id, seconds) in [("gone", 1.0), ("early", 7), ("middle", 14), ("edge", 16), ("late", 60)] {
            marks.add(try Self.range(id, at: seconds))
        }
        let plain = Self.playlist(2..<6)
        for isEnded in [false, true] {
            var playlist = plain
            playlist.isEnded = isEnded
            let lines = marks.applied(to: playlist.text(), isComplete: false).split(separator: "\n").map(String.init)
            // A message that had ended before the first segment is omitted.
            let order = lines.compactMap { line -> String? in
                if let match = line.firstMatch(of: /ID="(\w+)"/) { return String(match.1) }
                return line.hasPrefix("#") ? nil : line
            }
            #expect(
                order == [
                    "early", "video-2.ts", "middle", "video-3.ts", "edge", "video-4.ts", "late", "video-5.ts",
                ])
            #expect(
                lines.filter { !$0.hasPrefix("#EXT-X-DATERANGE") }.joined(separator: "\n") + "\n" == playlist.text())
        }
    }

    @Test func otherTextsStayAsTheyAre() throws {
        var marks = PlaylistMarks()
        #expect(marks.applied(to: Self.playlist(0..<3).text(), isComplete: true) == Self.playlist(0..<3).text())
        marks.add(try Self.range("a", at: 1))
        marks.pause(at: Self.start)
        for text in [
            "", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nvideo.m3u8\n", Self.playlist(0..<0).text(),
            "#EXTM3U\n#EXTINF:4.0,\nvideo-0.ts\n",
        ] {
            #expect(marks.applied(to: text, isComplete: true) == text)
        }
    }

    @Test func pausesAreLeftOutOfWhatIsKept() throws {
        var marks = PlaylistMarks()
        // The pauses last from within segment 1 to within segment 3, and start again within segment 6.
        marks.pause(at: Self.start + 5000)
        marks.pause(at: Self.start + 6000)
        #expect(marks.isPaused && marks.pauses.count == 1)
        marks.resume(at: Self.start + 13_000)
        marks.resume(at: Self.start + 50_000)
        #expect(!marks.isPaused)
        marks.pause(at: Self.start + 25_000)
        #expect(marks.pauses.count == 2)
        marks.add(try Self.range("during", at: 9))
        marks.add(try Self.range("after", at: 17))
        let playlist = Self.playlist(0..<9, isEnded: true, breaks: [4])
        let kept = marks.applied(to: playlist.text(.onDemand), isComplete: true)
        #expect(Self.names(kept) == ["0", "1", "4", "5", "6"])
        // Times are discontinuous across a pause; an existing discontinuity is marked once.
        #expect(kept.split(separator: "\n").count { $0 == "#EXT-X-DISCONTINUITY" } == 1)
        #expect(!kept.contains("during") && kept.contains("after") && kept.hasSuffix("#EXT-X-ENDLIST\n"))
        marks.resume(at: Self.start + 30_000)
        let more = marks.applied(to: playlist.text(.onDemand), isComplete: true)
        #expect(Self.names(more) == ["0", "1", "4", "5", "6", "8"])
        #expect(more.split(separator: "\n").count { $0 == "#EXT-X-DISCONTINUITY" } == 2)
        // Live viewers get all segments.
        let live = marks.applied(to: playlist.text(), isComplete: false)
        #expect(Self.names(live).count == 9 && live.contains("during"))
        var whole = PlaylistMarks()
        whole.pause(at: 0)
        #expect(Self.names(whole.applied(to: playlist.text(.onDemand), isComplete: true)).isEmpty)
    }

    @Test func marksAreBounded() throws {
        var marks = PlaylistMarks()
        for number in 0..<PlaylistMarks.mostRanges + 10 { marks.add(try Self.range("\(number)", at: 1)) }
        #expect(marks.ranges.count == PlaylistMarks.mostRanges && marks.ranges.first?.id == "10")
        for number in 0..<PlaylistMarks.mostPauses {
            let isTaken = marks.pause(at: Int64(number))
            #expect(isTaken)
            marks.resume(at: Int64(number))
        }
        let isTaken = marks.pause(at: 1000)
        #expect(!isTaken && marks.pauses.count == PlaylistMarks.mostPauses)
    }

    @Test func nothingInAPlaylistTraps() {
        var marks = PlaylistMarks()
        marks.pause(at: 5)
        let pieces = [
            "#EXT-X-PROGRAM-DATE-TIME:", "#EXT-X-DISCONTINUITY", "video-0.ts", "#EXTINF:", "", "\r", "#EXT-X-ENDLIST",
            "#EXT-X-PROGRAM-DATE-TIME:9999",
        ]
        for seed in 0..<2000 {
            var value = seed
            let text = (0..<6).map { _ in
                defer { value = value &* 31 &+ 7 }
                return pieces[(value >> 3) % pieces.count]
            }.joined(separator: "\n")
            _ = marks.applied(to: text, isComplete: true)
        }
    }
}
