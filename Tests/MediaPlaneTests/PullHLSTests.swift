import EncodedMedia
import Foundation
import Testing

@testable import ProgramRelay

/// Pulls of HLS that ffmpeg makes and nginx serves.
@Suite(.serialized, .timeLimit(.minutes(6))) struct PullHLSTests {
    private static let input = [
        "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30", "-f", "lavfi", "-i", "sine=f=440:r=48000",
    ]
    private static let codecs = [
        "-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-g", "30", "-pix_fmt", "yuv420p", "-c:a", "aac", "-ac",
        "2", "-hls_time", "1",
    ]

    /// Writes a stream of some seconds to a directory of the server.
    private static func record(
        _ server: HLSServer, _ name: String, seconds: Int, _ options: [String] = []
    ) async throws {
        try server.makeDirectory(name)
        let make = try PullSender(
            "/usr/bin/ffmpeg",
            input + ["-t", "\(seconds)"] + codecs + ["-hls_playlist_type", "vod"] + options
                + ["-f", "hls", server.path("\(name)/x.m3u8")])
        #expect(try await outputEventually { !make.isRunning })
    }

    private static func begin(_ server: HLSServer, _ name: String, _ options: [String] = []) throws -> PullSender {
        try server.makeDirectory(name)
        return try PullSender(
            "/usr/bin/ffmpeg",
            ["-re"] + input + ["-t", "60"] + codecs + ["-hls_list_size", "5", "-hls_flags", "delete_segments"] + options
                + ["-f", "hls", server.path("\(name)/x.m3u8")])
    }

    /// Checks that a track's frames arrive without a gap or a step back.
    private static func expectSteady(_ pull: WorkerPullRecorder, upTo limit: MediaTime = .milliseconds(50)) {
        for track in Track.allCases {
            let times = pull.frames.filter { $0.track == track }.map(\.dts)
            let steps = zip(times, times.dropFirst()).map { $1 - $0 }
            #expect(steps.allSatisfy { $0 > .zero && $0 <= limit }, "\(track): \(steps.filter { $0 > limit })")
        }
    }

    @Test(arguments: [[], ["-hls_segment_type", "fmp4"], ["-hls_flags", "single_file"]])
    func aRecordingIsPlayedAtItsRateToItsEnd(options: [String]) async throws {
        let server = try await HLSServer()
        defer { server.stop() }
        try await Self.record(server, "vod", seconds: 4, options)
        let start = ContinuousClock.now
        let pull = try WorkerPullRecorder("\(server.url)/vod/x.m3u8?key=1")
        #expect(try await outputEventually { !pull.frames.isEmpty || !pull.ends.isEmpty })
        let first = ContinuousClock.now - start
        print("HLS on demand \(options): first frame after \(first)")
        #expect(first < .seconds(15), "promised within 2 s, which a busy machine does not show")
        #expect(try await outputEventually { !pull.ends.isEmpty })
        let took = ContinuousClock.now - start
        #expect(pull.ends.map(\.kind) == [.ended], "\(pull.ends)")
        #expect(took > .milliseconds(3_700), "4 s of media in \(took)")
        #expect(pull.frames.count { $0.track == .video } == 120)
        #expect(pull.transcoded.isEmpty && pull.frames.contains { $0.pts > $0.dts })
        Self.expectSteady(pull)
        await pull.close()
    }

    @Test(arguments: [[], ["-hls_segment_type", "fmp4"]])
    func aLiveStreamIsPulledWithoutAHole(options: [String]) async throws {
        let server = try await HLSServer()
        defer { server.stop() }
        let sender = try Self.begin(server, "live", options)
        #expect(try await outputEventually { server.exists("live/x.m3u8") })
        let start = ContinuousClock.now
        let pull = try WorkerPullRecorder("\(server.url)/moved/live/x.m3u8")
        #expect(try await outputEventually { !pull.frames.isEmpty || !pull.ends.isEmpty })
        let first = ContinuousClock.now - start
        print("HLS live \(options): first frame after \(first)")
        #expect(first < .seconds(15), "promised within 2 s, which a busy machine does not show")
        #expect(
            try await outputEventually { pull.frames.count { $0.track == .video } > 180 || !pull.ends.isEmpty },
            "\(pull.frames.count) frames")
        Self.expectSteady(pull)
        #expect(pull.ends.isEmpty && pull.transcoded.isEmpty)
        await pull.close()
        sender.stop()
    }

    /// The server is away for longer than the fetched media last.
    @Test func aServerThatIsBackIsGoneOnWith() async throws {
        let server = try await HLSServer()
        defer { server.stop() }
        let sender = try Self.begin(server, "live")
        #expect(try await outputEventually { server.exists("live/x.m3u8") })
        let pull = try WorkerPullRecorder("\(server.url)/live/x.m3u8")
        #expect(try await outputEventually { pull.frames.count > 60 }, "\(pull.ends)")
        server.stop()
        let gone = ContinuousClock.now
        #expect(try await outputEventually { pull.silence > .milliseconds(1000) })
        #expect(ContinuousClock.now - gone < .seconds(30), "what was fetched ends")
        let count = pull.frames.count
        try await server.start()
        let up = ContinuousClock.now
        #expect(try await outputEventually { pull.frames.count > count + 30 || !pull.ends.isEmpty })
        print("HLS: frames \(ContinuousClock.now - up) after the server is back")
        #expect(pull.ends.isEmpty, "\(pull.ends)")
        server.stop()
        #expect(try await outputEventually(within: .seconds(60)) { !pull.ends.isEmpty })
        #expect(pull.ends.map(\.kind) == [.unreachable], "\(pull.ends)")
        await pull.close()
        sender.stop()
    }

    @Test func segmentsThatAreEncryptedAreRead() async throws {
        let server = try await HLSServer()
        defer { server.stop() }
        try server.write("key", [UInt8](1...16))
        try server.write("info", Array("/key\n\(server.path("key"))\n".utf8))
        try await Self.record(server, "secret", seconds: 2, ["-hls_key_info_file", server.path("info")])
        let pull = try WorkerPullRecorder("\(server.url)/secret/x.m3u8")
        #expect(try await outputEventually { !pull.ends.isEmpty })
        #expect(pull.ends.map(\.kind) == [.ended] && pull.frames.count { $0.track == .video } == 60, "\(pull.ends)")
        await pull.close()
        try server.write("key", [UInt8](repeating: 9, count: 16))
        let wrong = try WorkerPullRecorder("\(server.url)/secret/x.m3u8")
        #expect(try await outputEventually(within: .seconds(60)) { !wrong.ends.isEmpty })
        #expect(wrong.frames.isEmpty && wrong.ends.map(\.kind) != [.ended], "\(wrong.ends)")
        await wrong.close()
    }

    /// TS and fMP4 in one playlist, of different sizes, with restarting times.
    @Test func aDiscontinuityIsGoneOnAt() async throws {
        let server = try await HLSServer()
        defer { server.stop() }
        try await Self.record(server, "one", seconds: 2)
        try await Self.record(server, "two", seconds: 2, ["-s", "640x360", "-hls_segment_type", "fmp4"])
        func lines(_ name: String) throws -> [String] {
            try String(contentsOfFile: server.path("\(name)/x.m3u8"), encoding: .utf8).split(separator: "\n")
                .map { $0.hasPrefix("#") ? String($0).replacing("URI=\"", with: "URI=\"\(name)/") : "\(name)/\($0)" }
        }
        let first = try lines("one").filter { $0 != "#EXT-X-ENDLIST" }
        let second = try lines("two").filter { !$0.hasPrefix("#EXTM3U") && !$0.contains("SEQUENCE") }
        let text = first + ["#EXT-X-DISCONTINUITY"] + second
        try server.write("both.m3u8", Array(text.joined(separator: "\n").utf8))
        let pull = try WorkerPullRecorder("\(server.url)/both.m3u8")
        #expect(try await outputEventually { !pull.ends.isEmpty })
        #expect(pull.ends.map(\.kind) == [.ended] && pull.frames.count { $0.track == .video } == 120, "\(pull.ends)")
        Self.expectSteady(pull, upTo: .milliseconds(400))
        await pull.close()
    }

    /// The sound begins half a second after the pictures, which only the bytes of both show.
    @Test(arguments: [[], ["-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", "init_%v.mp4"]])
    func soundOfAPlaylistOfItsOwnComesInStep(options: [String]) async throws {
        let server = try await HLSServer()
        defer { server.stop() }
        try server.makeDirectory("split")
        let make = try PullSender(
            "/usr/bin/ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30:d=4", "-itsoffset", "0.5", "-f", "lavfi",
                "-i", "sine=f=440:r=48000:d=3.5",
            ] + Self.codecs + ["-hls_playlist_type", "vod"] + options
                + [
                    "-var_stream_map", "v:0,agroup:sound a:0,agroup:sound,default:yes", "-master_pl_name", "all.m3u8",
                    "-f", "hls", server.path("split/%v.m3u8"),
                ])
        #expect(try await outputEventually { !make.isRunning })
        let pull = try WorkerPullRecorder("\(server.url)/split/all.m3u8")
        #expect(try await outputEventually { !pull.ends.isEmpty })
        #expect(pull.ends.map(\.kind) == [.ended] && pull.transcoded.isEmpty, "\(pull.ends)")
        let pictures = pull.frames.filter { $0.track == .video }
        let sounds = pull.frames.filter { $0.track == .audio }
        #expect(pictures.count == 120 && sounds.count > 150, "\(pictures.count) \(sounds.count)")
        let distance = try #require(sounds.first).pts - #require(pictures.first).pts
        #expect((distance - .milliseconds(500)).magnitude < .milliseconds(50), "\(distance)")
        Self.expectSteady(pull)
        await pull.close()
    }

    /// Many requests, one connection for each playlist.
    @Test func connectionsServeManyRequests() async throws {
        let server = try await HLSServer()
        defer { server.stop() }
        try await Self.record(server, "vod", seconds: 4)
        let before = try await server.counts()
        let pull = try WorkerPullRecorder("\(server.url)/vod/x.m3u8")
        #expect(try await outputEventually { !pull.ends.isEmpty })
        let after = try await server.counts()
        await pull.close()
        // The pull itself requests one of each as a probe.
        #expect(after.requests - before.requests == 6, "a playlist and four segments")
        #expect(after.connections - before.connections == 2)
    }

    /// A live playlist whose sender has gone is not replayed at each connection, and continues when the playlist
    /// changes.
    @Test func aPlaylistThatWasLeftIsWaitedFor() async throws {
        let server = try await HLSServer()
        defer { server.stop() }
        try await Self.record(server, "left", seconds: 4)
        let whole = try String(contentsOfFile: server.path("left/x.m3u8"), encoding: .utf8)
            .replacing("#EXT-X-PLAYLIST-TYPE:VOD\n", with: "").replacing("#EXT-X-ENDLIST\n", with: "")
        let last = try #require(whole.range(of: "#EXTINF", options: .backwards))
        try server.write("left/x.m3u8", Array(whole[..<last.lowerBound].utf8))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -60)], ofItemAtPath: server.path("left/x.m3u8"))
        let pull = try WorkerPullRecorder("\(server.url)/left/x.m3u8")
        try await Task.sleep(for: .seconds(2))
        #expect(pull.frames.isEmpty && pull.ends.isEmpty, "\(pull.ends)")
        try server.write("left/x.m3u8", Array(whole.utf8))
        #expect(try await outputEventually { pull.frames.count { $0.track == .video } > 20 }, "\(pull.ends)")
        await pull.close()
    }

    @Test func theBestVariantOfAMasterPlaylistIsPulled() async throws {
        let server = try await HLSServer()
        defer { server.stop() }
        try await Self.record(server, "low", seconds: 1)
        try await Self.record(server, "high", seconds: 1, ["-r", "60"])
        try server.write(
            "all.m3u8",
            Array(
                """
                #EXTM3U
                #EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=320x180
                low/x.m3u8
                #EXT-X-STREAM-INF:BANDWIDTH=1800000,RESOLUTION=320x180
                high/x.m3u8
                #EXT-X-STREAM-INF:BANDWIDTH=90000000,RESOLUTION=3840x2160
                missing.m3u8
                """.utf8))
        let pull = try WorkerPullRecorder("\(server.url)/all.m3u8")
        #expect(try await outputEventually { !pull.ends.isEmpty })
        #expect(pull.frames.count { $0.track == .video } == 60, "\(pull.ends)")
        await pull.close()
    }

    /// A forbidden address is not connected to, regardless of its origin.
    @Test(arguments: ["redirect", "variant", "segment", "key"]) func addressesOfStrangersAreJudged(place: String)
        async throws
    {
        let server = try await HLSServer()
        defer { server.stop() }
        let other = "http://10.1.2.3/x"
        let segment = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n"
        try server.write("variant.m3u8", Array("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=9\n\(other)\n".utf8))
        try server.write("segment.m3u8", Array("\(segment)\(other)\n#EXT-X-ENDLIST\n".utf8))
        try server.write(
            "key.m3u8",
            Array(
                segment.replacing("#EXTINF", with: "#EXT-X-KEY:METHOD=AES-128,URI=\"\(other)\"\n#EXTINF").utf8)
                + Array("segment.m3u8\n#EXT-X-ENDLIST\n".utf8))
        let pull = try WorkerPullRecorder("\(server.url)/\(place).m3u8")
        #expect(try await outputEventually { !pull.ends.isEmpty })
        #expect(pull.ends.map(\.kind) == [.notAllowed] && pull.frames.isEmpty, "\(pull.ends)")
        #expect(pull.ends.first?.words.contains("10.1.2.3") == true, "\(pull.ends)")
        await pull.close()
    }

    @Test(arguments: [
        ("missing.m3u8", PullEnd.Kind.refused, "the server answers 404 for the playlist"),
        ("page.m3u8", .protocolViolation, "does not begin with #EXTM3U"),
        ("file.m3u8", .protocolViolation, "not one of HTTP"),
        ("sample.m3u8", .protocolViolation, "SAMPLE-AES"), ("separate.m3u8", .refused, "404 for the playlist"),
    ])
    func whatCannotBePlayedIsNamed(path: String, kind: PullEnd.Kind, words: String) async throws {
        let server = try await HLSServer()
        defer { server.stop() }
        try server.write("page.m3u8", Array("<html>".utf8))
        try server.write(
            "file.m3u8", Array("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nfile:///etc/passwd\n".utf8))
        try server.write(
            "sample.m3u8",
            Array("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"k\"\n#EXTINF:2,\na\n".utf8))
        try server.write(
            "separate.m3u8",
            Array(
                """
                #EXTM3U
                #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="g",NAME="n",URI="s.m3u8"
                #EXT-X-STREAM-INF:BANDWIDTH=9,AUDIO="g"
                pictures.m3u8
                """.utf8))
        try server.write(
            "pictures.m3u8", Array("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\na\n#EXT-X-ENDLIST\n".utf8))
        let pull = try WorkerPullRecorder("\(server.url)/\(path)?token=secret")
        #expect(try await outputEventually { !pull.ends.isEmpty })
        #expect(pull.ends.map(\.kind) == [kind], "\(pull.ends)")
        #expect(pull.ends.first?.words.contains(words) == true, "\(pull.ends)")
        #expect(pull.ends.first?.words.contains("secret") == false)
        await pull.close()
    }

    @Test(arguments: [
        ("seg-1.ts?a=b%20c", "http://h/live/seg-1.ts?a=b%20c"), ("my show 1.ts", "http://h/live/my%20show%201.ts"),
        (" /\u{76F4}1.ts\t", "http://h/%e7%9b%b41.ts"), ("http://o/\u{E9}.ts", "http://o/%c3%a9.ts"),
    ])
    func referencesAreEncodedAsPlayersDo(reference: String, url: String) {
        #expect(HTTPRedirect.resolve(HLSReader.encoded(reference), against: "http://h/live/index.m3u8") == url)
    }

    @Test func thePathDecidesBetweenHLSAndFLV() {
        for url in ["http://h/x.m3u8", "https://h:1/a/x.M3U8?k=v&m=/x.flv", "http://h/x.m3u8#f"] {
            #expect(PullProtocols.kind(of: url)?.name == HLSPull.name, "\(url)")
        }
        for url in ["http://h/x.flv", "http://h/x?y=.m3u8", "http://h/", "http://h/x.m3u8/live.flv"] {
            #expect(PullProtocols.kind(of: url)?.name == HTTPPull.name, "\(url)")
        }
    }
}
