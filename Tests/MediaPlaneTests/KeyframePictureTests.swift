import GStreamerKit
import Testing

@testable import EncodedMedia

/// What is measured of a keyframe.
@Suite(.timeLimit(.minutes(3))) struct KeyframePictureTests {
    /// A fine pattern is equally bright everywhere, whichever of its pixels are in the middle of a part.
    @Test func brightnessIsThatOfWholeParts() async throws {
        let pipeline = try Pipeline(
            """
            videotestsrc num-buffers=1 pattern=checkers-8 ! video/x-raw,format=I420,width=1280,height=720 ! \
            x264enc tune=zerolatency speed-preset=ultrafast pass=quant quantizer=18 threads=1 ! \
            video/x-h264,stream-format=avc,alignment=au ! appsink name=out sync=false async=false
            """, name: "pattern")
        let frames = Gathered<EncodedFrame>()
        let configuration = Gathered<[UInt8]>()
        try pipeline.appSink("out") { sample in
            if let data = sample.codecData { configuration.add(data) }
            frames.add(
                EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: !sample.isDelta, payload: sample.bytes))
        }
        try await pipeline.play()
        await pipeline.waitForEnd(atMost: .seconds(30))
        await pipeline.tearDown()
        let keyframe = try #require(frames.all.first)
        let codec = CodecConfiguration(.h264, bytes: try #require(configuration.all.first))
        let parts = try await KeyframePicture.brightness(of: keyframe, codec, parts: 32, limit: .seconds(30))
        #expect(parts.count == 32 * 32)
        let (darkest, brightest) = (try #require(parts.min()), try #require(parts.max()))
        #expect(darkest > 90 && brightest < 130 && brightest - darkest <= 10, "\(darkest) to \(brightest)")
    }
}
