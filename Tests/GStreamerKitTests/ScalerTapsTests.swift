import CGStreamer
import Testing

@testable import GStreamerKit

@Suite(.timeLimit(.minutes(3))) struct ScalerTapsTests {
    /// Returns the darkest and the brightest value of a grey line of `from` pixels that is scaled to `to` with `taps`
    /// taps.
    private func scaled(from: Int, to: Int, taps: Int) throws -> ClosedRange<UInt8> {
        let source = try #require(try CanvasPool(format: .init(width: from, height: 4, layout: "GRAY8")).acquire())
        let target = try #require(try CanvasPool(format: .init(width: to, height: 4, layout: "GRAY8")).acquire())
        source.fill(y: 200, u: 0, v: 0)
        var (input, output) = (try source.format.info(), try target.format.info())
        let converter = try #require(
            cgst_converter(
                &input, &output, VideoRect(x: 0, y: 0, width: from, height: 4).raw,
                VideoRect(x: 0, y: 0, width: to, height: 4).raw, Int32(GST_VIDEO_RESAMPLER_METHOD_LINEAR.rawValue),
                guint(taps), 1, 1))
        defer { gst_video_converter_free(converter) }
        source.withMapped(writing: false) { input in
            target.withMapped(writing: true) { output in gst_video_converter_frame(converter, &input, &output) }
        }
        let pixels = target.plane(0)
        return try #require(pixels.min())...(try #require(pixels.max()))
    }

    /// The library's rounding is understood well enough to predict its errors. If this fails after an upgrade of
    /// GStreamer, its rounding has changed and `ScalerTaps` may be superfluous.
    @Test(arguments: [180, 360, 720])
    func errorsAreForeseen(from: Int) throws {
        try GStreamerRuntime.start()
        var errors = 0
        for to in stride(from: 16, to: from, by: 2) {
            let seen = try scaled(from: from, to: to, taps: 0)
            let isExact = cgst_scales_exactly(GST_VIDEO_RESAMPLER_METHOD_LINEAR, 0, guint(from), guint(to)) != 0
            #expect(isExact == (seen == 200...200), "\(from) to \(to): \(seen)")
            if !isExact { errors += 1 }
        }
        #expect(errors > 0)
    }

    /// The canvases 720×1280 and 1280×720 in columns and strips, from common cameras.
    @Test(arguments: [(720, 1280), (640, 360), (1920, 1080)])
    func plainColoursStayWhatTheyAre(width: Int, height: Int) throws {
        let source = VideoFormat(width: width, height: height)
        let frame = try #require(try CanvasPool(format: source).acquire())
        frame.fill(y: 90, u: 60, v: 210)
        let widths = [72, 80, 84, 96, 128, 144, 172, 192, 198, 256]
        for to in widths where to < width {
            let size = VideoFormat(width: to, height: max(2, to * height / width / 2 * 2))
            let rect = VideoRect(x: 0, y: 0, width: size.width, height: size.height)
            let target = try #require(try CanvasPool(format: size).acquire())
            #expect(try VideoConverter(from: source, to: size, destinationRect: rect).draw(frame, onto: target))
            for (plane, value) in [(0, 90), (1, 60), (2, 210)] as [(Int, UInt8)] {
                #expect(target.plane(plane).allSatisfy { $0 == value }, "\(width) to \(to), plane \(plane)")
            }
        }
    }

    @Test func whatCannotBeMendedIsLeftAlone() {
        func taps(_ from: (Int, Int), _ to: (Int, Int)) -> Int {
            ScalerTaps.linear(
                from: VideoRect(x: 0, y: 0, width: from.0, height: from.1),
                to: VideoRect(x: 0, y: 0, width: to.0, height: to.1))
        }
        #expect(taps((720, 1280), (360, 640)) == 0)
        #expect(taps((720, 1280), (144, 256)) != 0)
        // Stretched: eleven pixels would blur the direction that needs three.
        #expect(taps((360, 360), (72, 300)) == 0)
        #expect(taps((16, 16), (16, 16)) == 0 && taps((1, 1), (2, 2)) == 0)
    }
}
