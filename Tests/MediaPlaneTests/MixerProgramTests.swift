import Foundation
import GStreamerKit
import LayoutEngine
import MixModel
import TestSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramMixer

extension RealTime {
    @Suite("Mixer's programs", .timeLimit(.minutes(6)))
    struct MixerProgramTests {
        static let host: SourceID = "alice/camera"
        static let guest: SourceID = "bob/camera"

        /// A PNG of 2×2 red pixels.
        private static let red =
            "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg=="

        private func sample(_ frame: VideoFrame, _ plane: Int, _ x: Int, _ y: Int) -> Int {
            frame.withPlane(plane) { bytes, stride, _, _ in Int(bytes[y * stride + x]) } ?? -1
        }

        private static func area(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> Area {
            Area(
                x: UnitFraction(x), y: UnitFraction(y), width: UnitFraction(width), height: UnitFraction(height))
        }

        @Test(
            "Panes of one's own: cropped, on black, over each other, an image for whoever is absent, black for nobody")
        func places() async throws {
            let image = FileManager.default.temporaryDirectory.appending(path: "program-\(UUID().uuidString).png")
            try #require(Data(base64Encoded: Self.red)).write(to: image)
            defer { try? FileManager.default.removeItem(at: image) }
            let tall = try await TestStreams.video(TestPicture(palette: [SIMD3(90, 128, 128)]), count: 60)
            let wide = try await TestStreams.video(
                TestPicture(width: 320, height: 180, palette: [SIMD3(160, 100, 150)]), count: 60)
            var setup = MixerHarness.setup(host: Self.host, videoOrigin: .milliseconds(500))
            setup.canvas.background = RGB(red: 0, green: 0, blue: 255)
            func person(_ id: SourceID, hasVideo: Bool = true) -> LayoutParticipant {
                LayoutParticipant(source: id.rawValue, user: id.user.rawValue, joinOrder: 0, hasVideo: hasVideo)
            }
            // The upper half for the host, the lower left for a wide picture shown whole, the lower right for an image,
            // and a black square without a participant over the host's left edge. The last tenth shows the canvas.
            let scene = LayoutEngine.scene(
                of: [
                    Place(area: Self.area(0, 0, 1, 0.5), z: 0, fit: .cover, occupant: person(Self.host)),
                    Place(area: Self.area(0, 0.5, 0.5, 0.4), z: 1, fit: .contain, occupant: person(Self.guest)),
                    Place(
                        area: Self.area(0.5, 0.5, 0.5, 0.4), z: 1, fit: .cover,
                        occupant: person("zoe/camera", hasVideo: false), placeholder: image.path),
                    Place(area: Self.area(0, 0.25, 0.25, 0.125), z: 9, fit: .cover),
                ], heard: [], background: nil, canvas: setup.canvas)
            var harness = MixerHarness(setup: setup)
            harness.sources = [
                PlayedSource(id: Self.host, tracks: [tall], joins: .milliseconds(300)),
                PlayedSource(id: Self.guest, tracks: [wide], joins: .milliseconds(300)),
            ]
            harness.commands = [(.milliseconds(300), .scene(scene))]
            let record = try await harness.run(start: .milliseconds(300), end: .milliseconds(2200))
            #expect(record.failures.isEmpty && record.notes.isEmpty, "\(record.failures) \(record.notes)")
            let pictures = try await TestStreams.pictures(record.video)
            #expect(pictures.count > 20)
            let blue = CanvasColour(signal: .unsignalled, canvas: setup.canvas).planes(of: setup.canvas.background)
            for (k, decoded) in pictures.enumerated().dropFirst(4) {
                let frame = decoded.picture.frame
                func y(_ column: Int, _ row: Int) -> Int { sample(frame, 0, column, row) }
                // The host, with its mark cropped away as part of the upper quarter of its picture.
                #expect(abs(y(300, 20) - 90) < 6 && abs(y(180, 300) - 90) < 6, "frame \(k)")
                // 180×102 in the middle of 180×256, black above and below.
                #expect(abs(y(90, 460) - 160) < 8, "frame \(k)")
                #expect(y(90, 330) < 20 && y(90, 390) < 20 && y(90, 530) < 20 && y(90, 570) < 20, "frame \(k)")
                #expect(y(4, 322) < 20 && y(174, 574) < 20, "frame \(k): the corners of the pane")
                // Red has a high V.
                #expect(sample(frame, 2, 270 / 2, 450 / 2) > 200, "frame \(k)")
                #expect(sample(frame, 2, 184 / 2, 324 / 2) > 190 && sample(frame, 2, 354 / 2, 570 / 2) > 190)
                // The empty pane lies over the host.
                #expect(y(40, 200) < 20 && abs(y(110, 200) - 90) < 8, "frame \(k)")
                #expect(abs(sample(frame, 1, 90, 610 / 2) - Int(blue.u)) < 8, "frame \(k): the canvas")
            }
        }

        @Test("Sound alone: no picture is made, 16 kHz mono, and the volumes are told")
        func soundAlone() async throws {
            let sound = try await TestStreams.audio(count: 140) { 0.2 * sin(Float($0) * 0.1) }
            var setup = MixerHarness.setup(
                host: Self.host, videoOrigin: .milliseconds(600), audioOrigin: .milliseconds(600), rate: 16_000,
                channels: 1)
            setup.tracks = .audio
            setup.audioBitrate = 32_000
            var harness = MixerHarness(setup: setup)
            harness.sources = [PlayedSource(id: Self.host, tracks: [sound], joins: .milliseconds(400))]
            harness.commands = [
                (.milliseconds(400), .scene(MixerHarness.scene(setup, [], heard: [Self.host, Self.guest]))),
                (.milliseconds(401), .reportVolumes(true)),
                // No participant has sound any more: scenes are adopted without pictures, too.
                (.milliseconds(2200), .scene(MixerHarness.scene(setup, []))),
            ]
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(3300))
            #expect(record.failures.isEmpty, "\(record.failures)")
            #expect(record.video.frames.isEmpty)
            let format = try #require(AudioSpecificConfig(record.audio.configuration.bytes))
            #expect(format.sampleRate == 16_000 && format.channels == 1)
            for (m, frame) in record.audio.frames.enumerated() {
                #expect(frame.pts == setup.audioOrigin + .units(Int64(m) * 1024, rate: 16_000))
            }
            #expect(record.audio.frames.count > 30)
            let packets = try await TestStreams.sound(record.audio, rate: 16_000, channels: 1)
            func loudest(_ range: Range<Double>) -> Float {
                packets.filter { range.contains($0.time.inSeconds) }.flatMap { $0.samples.map(abs) }.max() ?? -1
            }
            #expect(loudest(1.0..<2.0) > 0.15 && loudest(2.6..<3.0) < 0.01)
            let volumes = record.volumes.compactMap { $0[Self.host] }
            // A sine of 0.2 of full scale: 51 of 255.
            #expect(volumes.contains { 48...54 ~= $0 }, "\(volumes)")
            #expect(record.volumes.last?[Self.host] == nil)
        }

        /// `profile_idc` as encoded in the records (ITU-T H.264 §A.2, H.265 §A.3.2).
        static let encodings: [(VideoCodec, Int, EncodingSettings.Profile, Int)] =
            [(.h264, 300_000, .baseline, 66), (.h264, 1_200_000, .high, 100), (.h265, 1_200_000, .main, 1)]
            + TestLength.of(short: [], long: [(.h264, 1_200_000, .main, 77), (.h265, 300_000, .main, 1)])

        @Test("The encoder keeps to rate, distance of key frames and profile", arguments: encodings)
        func encoder(codec: VideoCodec, bitrate: Int, profile: EncodingSettings.Profile, number: Int) async throws {
            let snow = try await Self.snow(count: 120)
            var setup = MixerHarness.setup(host: Self.host, videoOrigin: .milliseconds(500))
            setup.videoCodec = codec
            setup.videoBitrate = bitrate
            setup.gopFrames = 15
            setup.profile = profile
            setup.preset = .superfast
            var harness = MixerHarness(setup: setup)
            harness.sources = [PlayedSource(id: Self.host, tracks: [snow], joins: .milliseconds(300))]
            harness.commands = [(.milliseconds(300), .scene(MixerHarness.scene(setup, [Self.host])))]
            let record = try await harness.run(start: .milliseconds(300), end: .milliseconds(5500))
            #expect(record.failures.isEmpty, "\(record.failures)")
            let frames = record.video.frames
            try #require(frames.count > 45)
            // Noise looks like a cut now and then, which adds a keyframe.
            let keys = frames.indices.filter { frames[$0].isIDR }
            #expect(keys.first == 0 && zip(keys, keys.dropFirst()).allSatisfy { $1 - $0 <= 15 }, "\(keys)")
            #expect(frames.count - (keys.last ?? 0) <= 15)
            #expect(Int(record.video.configuration.bytes[1]) == number)
            // In whole groups, without the first, which settles the rate.
            let measured = frames.dropFirst(15).prefix(frames.count / 15 * 15 - 15)
            let rate = Double(measured.reduce(0) { $0 + $1.payload.count }) * 8 * 20 / Double(measured.count)
            print("\(codec): \(bitrate) bit/s asked for, \(Int(rate)) made of noise")
            #expect((0.6...1.4).contains(rate / Double(bitrate)))
        }

        /// Returns noise, which needs as many bits as the encoder may use.
        private static func snow(count: Int) async throws -> TestTrack {
            let pipeline = try Pipeline(
                """
                videotestsrc pattern=snow num-buffers=\(count) ! video/x-raw,format=I420,width=360,height=640,framerate=20/1 ! \
                x264enc tune=zerolatency bframes=0 key-int-max=40 speed-preset=ultrafast pass=quant quantizer=30 threads=1 \
                aud=false ! video/x-h264,stream-format=avc,alignment=au ! appsink name=out sync=false async=false
                """, name: "test-snow")
            let frames = Gathered<EncodedFrame>()
            let configuration = Gathered<[UInt8]>()
            try pipeline.appSink("out") { sample in
                if configuration.all.isEmpty, let data = sample.codecData { configuration.add(data) }
                let time = MediaTime(nanoseconds: sample.runningTime ?? 0)
                frames.add(
                    EncodedFrame(track: .video, pts: time, dts: time, isIDR: !sample.isDelta, payload: sample.bytes))
            }
            try await pipeline.play()
            try await until { frames.all.count == count }
            await pipeline.tearDown()
            return TestTrack(
                configuration: CodecConfiguration(track: .video, bytes: configuration.all.first ?? []),
                frames: frames.all)
        }
    }
}
