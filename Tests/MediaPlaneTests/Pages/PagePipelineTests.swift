import Testing

@testable import PageCapture

/// The capture and the encoders of a page, as GStreamer is told.
struct PagePipelineTests {
    private static func description(_ width: Int, _ height: Int, _ frameRate: Int) -> String {
        PagePipeline.description(
            width: width, height: height, frameRate: frameRate, display: 7, pulse: "/run/pulse.sock")
    }

    @Test func theCaptureIsInStepWithTheBrowser() {
        let text = Self.description(1280, 720, 30)
        #expect(text.contains("framerate=1000000/33332 "), "\(text)")
        #expect(text.contains("endx=1279 endy=719"), "\(text)")
    }

    @Test(
        "only pictures that are too much for one thread have slices",
        arguments: [(1280, 720, 30, 1), (720, 1280, 20, 1), (1920, 1080, 30, 1), (1920, 1080, 60, 2)])
    func threads(width: Int, height: Int, frameRate: Int, threads: Int) {
        #expect(Self.description(width, height, frameRate).contains(" threads=\(threads) "))
    }

    @Test func soundIsEncodedAsThatOfMixes() {
        #expect(Self.description(1280, 720, 30).contains("avenc_aac bitrate=128000 aac-coder=fast "))
    }
}
