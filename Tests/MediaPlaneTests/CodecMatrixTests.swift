import ChildProcesses
import EncodedMedia
import Foundation
import LayoutEngine
@testable import MediaFormats
import MixModel
import TestSupport
import Testing

@testable import ProgramMixer
@testable import ProgramRelay
@testable import RTMP

extension RealTime {
    /// Sources of codecs other than H.264 and AAC: some are copied, some mixed, and some transcoded when pulled.
    @Suite(.serialized, .timeLimit(.minutes(10))) struct CodecMatrixTests {
        private static let host: SourceID = "host/camera"
        private static let scene = Scene.columns([host])
        private static let h265 = EncodingSettings(videoCodec: .h265)

        private static func publish(_ sound: [String], to url: String) throws -> LaunchedProcess {
            try ProcessLaunch(
                "/usr/bin/env",
                [
                    "ffmpeg", "-v", "error", "-nostdin", "-re", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25",
                    "-f",
                    "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-t", "300", "-c:v", "libx264", "-preset",
                    "ultrafast", "-tune", "zerolatency", "-g", "25", "-pix_fmt", "yuv420p",
                ] + sound + ["-f", "flv", url]
            ).start()
        }

        /// Returns 40 seconds of the same stream as the tags that ffmpeg writes.
        private static func tags(_ sound: [String]) async throws -> [FLVTag] {
            let file = FileManager.default.temporaryDirectory.appending(path: "codec-\(UUID().uuidString).flv")
            defer { try? FileManager.default.removeItem(at: file) }
            let result = try await outputTool(
                "/usr/bin/env",
                [
                    "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25", "-f",
                    "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-t", "40", "-c:v", "libx264", "-preset",
                    "ultrafast", "-tune", "zerolatency", "-g", "25", "-pix_fmt", "yuv420p",
                ] + sound + ["-f", "flv", file.path])
            try #require(result == 0)
            var splitter = FLVSplitter()
            return try splitter.push([UInt8](try Data(contentsOf: file)))
        }

        /// Brings the source on air as a bypass, as a mix and as a bypass again, and checks the stream that a viewer
        /// gets.
        private func expectBypassMixAndBypass(_ rig: RelayRig, _ url: String, transcoded: TrackSelection?) async throws
        {
            let sources = [PlannedSource(id: Self.host, url: url)]
            try rig.apply(.bypass(Self.host), Self.scene, sources)
            try await rig.waitFor(.bypass)
            try await rig.until("sound in the bypass") { rig.sound.frames.count > 20 }
            let format = try #require(AudioSpecificConfig(rig.sound.configuration.bytes))
            #expect(format.objectType == 2)
            try await rig.until("its codec is told") { rig.status?.sources.first?.transcoded == transcoded }
            try rig.apply(.mix(host: Self.host), Self.scene, sources)
            try await rig.waitFor(.mix)
            let sound = rig.sound.frames.count
            try await rig.until("sound in the mix") { rig.sound.frames.count > sound + 20 }
            try rig.apply(.bypass(Self.host), Self.scene, sources)
            try await rig.waitFor(.bypass)
            let pictures = rig.segments.flatMap(\.frames)
            #expect(zip(pictures, pictures.dropFirst()).allSatisfy { $0.dts < $1.dts })
            let times = rig.sound.frames.map(\.pts)
            #expect(
                zip(times, times.dropFirst()).allSatisfy { $0 < $1 && $1 - $0 < .milliseconds(100) }, "sound is missing"
            )
            #expect(rig.notes.isEmpty, "\(rig.notes)")
            try await rig.until("it is live") {
                rig.status?.sources.first.map { $0.state == .live && $0.error == nil } ?? false
            }
        }

        /// Publishes a stream, and checks that the program contains its sound, transcoded.
        ///
        /// - Parameters:
        ///   - target: URL to which ffmpeg publishes.
        ///   - url: URL from which the relay pulls.
        ///   - isPublished: Returns whether the server has the stream: a pull without one is an error after a while.
        private func expectSoundTranscoded(
            _ sound: [String], to target: String, from url: String, isPublished: () async throws -> Bool
        ) async throws {
            let rig = try await RelayRig()
            let publisher = try Self.publish(sound, to: target)
            defer {
                publisher.signal(SIGKILL)
                publisher.waitForExit()
            }
            let isThere = try await outputEventually(within: .seconds(60), isPublished)
            #expect(isThere, "nothing at \(target)")
            try await expectBypassMixAndBypass(rig, url, transcoded: .audio)
            expectOwnPictures(rig)
            try await rig.stop()
        }

        /// The pictures are the publisher's: x264 numbers its parameter sets from 0, and the bypass has the publisher's
        /// size.
        private func expectOwnPictures(_ rig: RelayRig) {
            #expect(rig.status?.sources.first?.pictureSize == .init(width: 320, height: 240), "\(rig.account)")
        }

        @Test(arguments: ["nginx-rtmp", "ingest", "HTTP-FLV"]) func soundOfMP3IsTranscodedAndThePictureCopied(
            server: String
        )
            async throws
        {
            let mp3 = ["-c:a", "libmp3lame", "-ar", "44100"]
            switch server {
            case "nginx-rtmp":
                let media = try await OutputMediaServer.start()
                try await expectSoundTranscoded(mp3, to: media.url("host"), from: media.url("host")) {
                    try await media.isPublished("host")
                }
                await media.remove()
            case "ingest":
                let ingest = try await IngestRig.start()
                defer { ingest.stop() }
                try await expectSoundTranscoded(mp3, to: ingest.publishURL("host"), from: ingest.pullURL("host")) {
                    ingest.figures?.publishers == 1
                }
            default:
                // ffmpeg's own server would answer a single connection.
                let rig = try await RelayRig()
                rig.publish("host", tags: try await Self.tags(mp3))
                try await expectBypassMixAndBypass(rig, rig.url("host"), transcoded: .audio)
                expectOwnPictures(rig)
                try await rig.stop()
            }
        }

        /// Options of ffmpeg. The long form adds the second law of G.711, which takes the same way as the first.
        private static let otherSounds = [
            ["-c:a", "libspeex", "-ar", "16000", "-ac", "1"], ["-c:a", "pcm_alaw", "-ar", "8000", "-ac", "1"],
            ["-c:a", "nellymoser", "-ar", "22050", "-ac", "1"], ["-c:a", "pcm_mulaw", "-ar", "8000", "-ac", "1"],
        ]

        @Test(arguments: otherSounds.prefix(TestLength.of(short: 3, long: .max)))
        func otherSoundIsTranscoded(options: [String]) async throws {
            let ingest = try await IngestRig.start()
            defer { ingest.stop() }
            try await expectSoundTranscoded(options, to: ingest.publishURL("host"), from: ingest.pullURL("host")) {
                ingest.figures?.publishers == 1
            }
        }

        /// Returns the program's pictures, split where their configuration changes. H.265 repeats its configuration
        /// before each IDR.
        private func program(_ rig: RelayRig) -> [TestTrack] {
            rig.segments.reduce(into: []) { segments, next in
                if segments.last?.configuration == next.configuration {
                    segments[segments.count - 1].frames += next.frames
                } else {
                    segments.append(next)
                }
            }
        }

        /// Returns the mark of each picture that a viewer sees, in display order.
        ///
        /// - Parameter missing: Number of pictures that may be missing, because the decoder may withhold them.
        private func marks(_ segment: TestTrack, missing: Int) async throws -> [Int?] {
            try await TestStreams.pictures(segment, missing: missing).map { _, picture in
                TestMark.read(picture.frame, width: 360)
            }
        }

        @Test(arguments: TestLength.of(short: [3], long: [0, 3])) func h265IsCopiedAndMixedInAProgramOfH265(
            bFrames: Int
        ) async throws {
            // x265 makes open groups with B-frames unless told otherwise.
            let options = bFrames == 0 ? "open-gop=0" : "open-gop=1:b-pyramid=0"
            let video = try await TestStreams.video(
                count: 360, keyInterval: 20, bFrames: bFrames, options: options, codec: .h265)
            let sound = try await TestStreams.audio(count: 900) { _ in 0 }
            let cleanRandomAccess = video.frames.count { frame in
                NALUnits(frame.payload).contains { ($0.first ?? 0) >> 1 & 0x3F == 21 }
            }
            #expect(bFrames == 0 ? cleanRandomAccess == 0 : cleanRandomAccess > 10)
            let rig = try await RelayRig()
            rig.publish("host", [video, sound])
            let sources = [PlannedSource(id: Self.host, url: rig.url("host"))]
            try rig.apply(.bypass(Self.host), Self.scene, sources, encoding: Self.h265)
            try await rig.waitFor(.bypass)
            try await rig.until { program(rig).last?.frames.count ?? 0 > 30 }
            #expect(
                rig.segments.last?.configuration.videoCodec == .h265 && rig.status?.sources.first?.transcoded == nil)
            try rig.apply(.mix(host: Self.host), Self.scene, sources, encoding: Self.h265)
            try await rig.waitFor(.mix)
            try await rig.until { program(rig).count == 2 && program(rig)[1].frames.count > 30 }
            try rig.apply(.bypass(Self.host), Self.scene, sources, encoding: Self.h265)
            try await rig.waitFor(.bypass)
            try await rig.until { program(rig).count == 3 && program(rig)[2].frames.count > 50 }
            let segments = program(rig)
            try await rig.stop()
            #expect(segments.count == 3 && rig.notes.isEmpty, "\(rig.account)")
            var parts: [[Int?]] = []
            for (index, segment) in segments.enumerated() {
                // A mix has no B-frames.
                parts.append(try await marks(segment, missing: bFrames == 0 || index == 1 ? 0 : 1))
            }
            let seen = parts.flatMap(\.self)
            print(
                "H.265, \(bFrames) B-frames: \(segments.map(\.frames.count)) pictures, marks \(seen.map { $0 ?? -1 })")
            #expect(!seen.contains(nil), "a picture is broken")
            let numbers = seen.compactMap(\.self)
            let steps = zip(numbers, numbers.dropFirst()).map { $1 - $0 }
            // On a busy machine the mix may repeat or drop some pictures, but not where it begins or ends.
            let ends = [parts[0].count, parts[0].count + parts[1].count]
            let inside = ends[0] + 3..<max(ends[0] + 3, ends[1] - 3)
            let oddities = steps.indices.filter { steps[$0] != 1 }
            #expect(oddities.count { inside.contains($0) } <= max(3, inside.count / 5), "\(steps)")
            #expect(steps.allSatisfy { 0...2 ~= $0 }, "\(steps)")
            // A decoder that does not know of the end withholds the last picture that it reorders.
            let others = oddities.filter { !inside.contains($0) }
            #expect(others.count <= (bFrames == 0 ? 0 : 1) && others.allSatisfy { steps[$0] == 2 }, "\(steps)")
            let times = segments.flatMap(\.frames).map(\.pts.inMilliseconds).sorted()
            // At the end, pictures that are displayed before the last ones had not arrived yet.
            let intervals = zip(times, times.dropFirst()).map { $1 - $0 }.dropLast(bFrames)
            #expect(intervals.allSatisfy { abs($0 - 50) <= 1.5 }, "a picture is lost or shown twice: \(intervals)")
        }

        @Test(arguments: [ForeignCodec.h265, .av1, .vp9])
        func otherPicturesAreTranscodedInAProgramOfH264(codec: ForeignCodec) async throws {
            let sound = TestTrack.tags(of: [try await TestStreams.audio(count: 235) { _ in 0 }.looped(10)])
            let video =
                codec == .h265
                ? TestTrack.tags(of: [
                    try await TestStreams.video(count: 100, keyInterval: 20, options: "open-gop=0", codec: .h265)
                        .looped(10)
                ])
                : try await CodecStreams.enhancedVideo(codec, seconds: 5, rounds: 10)
            let rig = try await RelayRig()
            rig.publish("host", tags: (video + sound).sorted { $0.timestamp < $1.timestamp })
            try await expectBypassMixAndBypass(rig, rig.url("host"), transcoded: .video)
            #expect(
                rig.segments.allSatisfy { $0.configuration.videoCodec == .h264 } && rig.connections(of: "host") == 1,
                "\(rig.account)")
            let first = try #require(rig.segments.first)
            let shown = try await TestStreams.pictures(first)
            #expect(!first.frames.isEmpty && shown.count == first.frames.count, "a picture cannot be decoded")
            try await rig.stop()
        }

        @Test func aMissingDecoderIsSaid() async throws {
            let rig = try await RelayRig(environment: [
                "GST_PLUGIN_FEATURE_RANK": "av1dec:NONE,avdec_av1:NONE,dav1ddec:NONE,vaav1dec:NONE,vaapiav1dec:NONE"
            ])
            rig.publish("host", tags: try await CodecStreams.enhancedVideo(.av1, seconds: 3))
            try rig.apply(.bypass(Self.host), Self.scene, [PlannedSource(id: Self.host, url: rig.url("host"))])
            let words =
                "it sends AV1, which this machine cannot decode: install gstreamer1.0-plugins-bad, or publish H.264"
            try await rig.until("the decoder is named") {
                rig.status?.sources.first.map { $0.state == .failed && $0.error == words } ?? false
            }
            try await rig.stop()
        }

        @Test func aProgramThatBecomesH265CopiesWhatWasTranscoded() async throws {
            let rig = try await RelayRig()
            rig.publish(
                "host",
                [
                    try await TestStreams.video(count: 100, keyInterval: 20, options: "open-gop=0", codec: .h265)
                        .looped(10), try await TestStreams.audio(count: 235) { _ in 0 }.looped(10),
                ])
            let sources = [PlannedSource(id: Self.host, url: rig.url("host"))]
            try rig.apply(.bypass(Self.host), Self.scene, sources)
            try await rig.waitFor(.bypass)
            try await rig.until { rig.status?.sources.first?.transcoded == .video }
            try rig.apply(.bypass(Self.host), Self.scene, sources, encoding: Self.h265)
            try await rig.until("its pictures are copied") {
                rig.segments.last?.configuration.videoCodec == .h265 && program(rig).last?.frames.count ?? 0 > 20
            }
            try await rig.until { rig.status?.sources.first.map { $0.transcoded == nil } ?? false }
            try await rig.stop()
        }

        /// Frames of AAC-LC with a configuration that announces SBR (and PS), like HE-AAC: this machine has no encoder
        /// of HE-AAC. A decoder produces the output rate.
        @Test(arguments: [([0x2B, 0x11, 0x88, 0x00] as [UInt8], 2), ([0xEB, 0x09, 0x88, 0x00], 1)])
        func soundOfHEAACIsCopiedAndMixedAtItsOutputRate(configuration: [UInt8], channels: Int) async throws {
            var sound = try await TestStreams.audio(rate: 24_000, channels: channels, count: 200) {
                sin(Float($0) / 24_000 * 440 * 2 * .pi) * 0.3
            }.looped(6)
            sound.configuration = CodecConfiguration(track: .audio, bytes: configuration)
            let rig = try await RelayRig()
            rig.publish("host", [try await TestStreams.video(count: 160).looped(6), sound])
            let sources = [PlannedSource(id: Self.host, url: rig.url("host"))]
            try rig.apply(.bypass(Self.host), Self.scene, sources)
            try await rig.waitFor(.bypass)
            try await rig.until { rig.sound.frames.count > 20 }
            #expect(rig.sound.configuration.bytes == configuration)
            let times = rig.sound.frames.map(\.pts.inMilliseconds)
            #expect(zip(times, times.dropFirst()).allSatisfy { abs($1 - $0 - 2048.0 / 48) < 1.1 }, "\(times)")
            try rig.apply(.mix(host: Self.host), Self.scene, sources)
            try await rig.waitFor(.mix)
            try await rig.until("the mix's own sound") {
                AudioSpecificConfig(rig.sound.configuration.bytes)?.objectType == 2
                    && rig.sound.configuration.bytes != configuration
            }
            let mixed = try #require(AudioSpecificConfig(rig.sound.configuration.bytes))
            #expect(mixed.sampleRate == 48_000 && mixed.channels == 2)
            let begun = rig.sound.frames.count
            try await rig.until { rig.sound.frames.count > begun + 60 }
            let heard = try await TestStreams.sound(
                TestTrack(configuration: rig.sound.configuration, frames: Array(rig.sound.frames.suffix(40))))
            let loudest = heard.flatMap(\.samples).map(abs).max() ?? 0
            #expect(loudest > 0.2, "the mix is silent: \(loudest)")
            try rig.apply(.bypass(Self.host), Self.scene, sources)
            try await rig.waitFor(.bypass)
            #expect(rig.notes.isEmpty, "\(rig.notes)")
            try await rig.stop()
        }
    }
}
