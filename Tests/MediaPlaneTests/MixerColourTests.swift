import GStreamerKit
import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramMixer

extension RealTime {
    @Suite("Mixer's colours", .timeLimit(.minutes(6)))
    struct MixerColourTests {
        static let host: SourceID = "alice/camera"
        static let guest: SourceID = "bob/camera"

        struct Case: CustomStringConvertible, Sendable {
            var name: String
            var options: String
            var signal: ColourSignal
            var description: String { name }

            static let unsignalled = Case(
                name: "unsignalled", options: "colorprim=undef:transfer=undef:colormatrix=undef", signal: .unsignalled)
            static let bt709 = Case(
                name: "BT.709", options: "colorprim=bt709:transfer=bt709:colormatrix=bt709",
                signal: ColourSignal(primaries: 1, transfer: 1, matrix: 1))
            static let bt601 = Case(
                name: "BT.601", options: "colorprim=smpte170m:transfer=smpte170m:colormatrix=smpte170m",
                signal: ColourSignal(primaries: 6, transfer: 6, matrix: 6))
            static let matrixOnly = Case(
                name: "matrix only", options: "colorprim=undef:transfer=undef:colormatrix=bt470bg",
                signal: ColourSignal(matrix: 5))
            static let full = Case(
                name: "full range", options: "colorprim=bt709:transfer=bt709:colormatrix=bt709:fullrange=on",
                signal: ColourSignal(primaries: 1, transfer: 1, matrix: 1, isFullRange: true))
        }

        /// Saturated within the gamut of BT.601 and BT.709 alike: red, green, blue, skin, grey, white.
        static let palette: [SIMD3<UInt8>] = [
            SIMD3(75, 100, 195), SIMD3(135, 80, 70), SIMD3(50, 200, 115), SIMD3(150, 110, 155), SIMD3(126, 128, 128),
            SIMD3(230, 128, 128),
        ]

        private func rgb(_ frame: VideoFrame, x: Int, y: Int, signal: ColourSignal) -> SIMD3<Double> {
            func sample(_ plane: Int, _ x: Int, _ y: Int) -> Double {
                frame.withPlane(plane) { bytes, stride, _, _ in Double(bytes[y * stride + x]) } ?? 0
            }
            let isBT709 = signal.matrix == 1
            let (kr, kb) = isBT709 ? (0.2126, 0.0722) : (0.299, 0.114)
            let isFull = signal.isFullRange
            let luma = isFull ? sample(0, x, y) : (sample(0, x, y) - 16) * 255 / 219
            let scale = isFull ? 1.0 : 255.0 / 224
            let (u, v) = ((sample(1, x / 2, y / 2) - 128) * scale, (sample(2, x / 2, y / 2) - 128) * scale)
            let (r, b) = (luma + 2 * (1 - kr) * v, luma + 2 * (1 - kb) * u)
            let raw = SIMD3(r, (luma - kr * r - kb * b) / (1 - kr - kb), b)
            return raw.clamped(lowerBound: SIMD3(repeating: 0), upperBound: SIMD3(repeating: 255))
        }

        @Test(
            "A pane has the colour of its own bypass, and the mix is signalled like the host",
            arguments: [
                (Case.unsignalled, Case.unsignalled, VideoCodec.h264), (.bt709, .bt709, .h264), (.bt601, .bt709, .h264),
                (.bt709, .bt601, .h264), (.matrixOnly, .bt709, .h264), (.full, .full, .h264), (.bt709, .full, .h264),
                (.unsignalled, .unsignalled, .h265), (.bt709, .full, .h265), (.full, .bt601, .h265),
            ])
        func likeBypass(host: Case, guest: Case, codec: VideoCodec) async throws {
            let picture = TestPicture(palette: Self.palette)
            let hostVideo = try await TestStreams.video(picture, count: 60, options: host.options)
            let guestVideo = try await TestStreams.video(picture, count: 60, options: guest.options)
            #expect(VideoConfiguration(hostVideo.configuration)?.sequenceParameters?.colour == host.signal)
            var setup = MixerHarness.setup(colour: host.signal, host: Self.host, videoOrigin: .milliseconds(600))
            setup.videoCodec = codec
            var harness = MixerHarness(setup: setup)
            harness.sources = [
                PlayedSource(id: Self.host, tracks: [hostVideo], joins: .milliseconds(400)),
                PlayedSource(id: Self.guest, tracks: [guestVideo], joins: .milliseconds(400)),
            ]
            harness.commands = [
                (.milliseconds(400), .scene(MixerHarness.scene(setup, [Self.host, Self.guest])))
            ]
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(1700))
            #expect(VideoConfiguration(record.video.configuration)?.sequenceParameters?.colour == host.signal)

            let bypass = [try await TestStreams.pictures(hostVideo), try await TestStreams.pictures(guestVideo)]
            let mix = try await TestStreams.pictures(record.video)
            var worst = 0.0
            var seen: Set<Int> = []
            for (_, mixed) in mix {
                for (pane, signal) in [host.signal, guest.signal].enumerated() {
                    let mark = try #require(TestMark.read(mixed.frame, x: pane * 180, width: 180))
                    try #require(bypass[pane].indices.contains(mark), "picture \(mark) of \(bypass[pane].count)")
                    seen.insert(mark % Self.palette.count)
                    let own = rgb(bypass[pane][mark].picture.frame, x: 180, y: 320, signal: signal)
                    let shown = rgb(mixed.frame, x: pane * 180 + 90, y: 320, signal: host.signal)
                    let difference = own - shown
                    worst = max(worst, abs(difference.x), abs(difference.y), abs(difference.z))
                }
            }
            print("\(host) beside \(guest): largest colour error \(worst) of 255")
            #expect(worst <= 3)
            #expect(seen.count == Self.palette.count, "every colour was mixed")
        }

        @Test("The background has the colour asked for")
        func background() async throws {
            let signal = ColourSignal(primaries: 1, transfer: 1, matrix: 1)
            var setup = MixerHarness.setup(colour: signal)
            setup.canvas.background = RGB(red: 20, green: 90, blue: 200)
            var harness = MixerHarness(setup: setup)
            harness.commands = [(.milliseconds(400), .scene(Scene(canvas: setup.canvas, panes: [])))]
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(1000))
            let shown = rgb(
                try #require(try await TestStreams.pictures(record.video).last).picture.frame, x: 100, y: 100,
                signal: signal)
            let difference = shown - SIMD3(20, 90, 200)
            #expect(max(abs(difference.x), abs(difference.y), abs(difference.z)) <= 3, "\(shown)")
        }
    }
}
