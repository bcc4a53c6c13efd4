import EncodedMedia
import LayoutEngine
import MixModel
import Testing

@testable import ProgramMixer

/// Threads of an encoder.
@Suite("Encoder threads") struct EncoderThreadsTests {
    private static func count(
        _ canvas: Canvas, preset: EncodingSettings.Preset? = nil, codec: VideoCodec? = nil, threads: Int? = nil,
        default number: Int = 0, processors: Int = 8
    ) -> Int {
        var setup = MixerHarness.setup(width: canvas.width, height: canvas.height, fps: canvas.fps)
        (setup.preset, setup.videoCodec, setup.threads) = (preset, codec, threads)
        return EncoderThreads.count(setup, default: number, processors: processors)
    }

    @Test("are one for small canvases, and as many as real time needs for large ones, up to the processors")
    func byCanvas() {
        let (small, full) = (Canvas(width: 1920, height: 1080, fps: 30), Canvas(width: 1920, height: 1080, fps: 60))
        #expect(Self.count(.portrait) == 1 && Self.count(small) == 1)
        #expect(Self.count(full) == 2 && Self.count(full, processors: 1) == 1)
        #expect(Self.count(Canvas(width: 7680, height: 4320, fps: 60), processors: 64) == 16)
        #expect(Self.count(Canvas(width: 16, height: 16, fps: 1)) == 1)
    }

    @Test("are more for slow presets")
    func byPreset() {
        #expect(Self.count(.portrait, preset: .slow) == 2)
        #expect(Self.count(.portrait, preset: .superfast, codec: .h265) == 1)
    }

    @Test("are those of the program, or else those of the process, if they are set")
    func set() {
        let full = Canvas(width: 1920, height: 1080, fps: 60)
        #expect(Self.count(full, default: 3, processors: 1) == 3)
        #expect(Self.count(full, threads: 4, default: 3, processors: 1) == 4)
    }
}
