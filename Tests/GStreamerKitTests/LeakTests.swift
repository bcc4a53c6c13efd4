import Foundation
import GStreamerKit
import Testing

/// No object stays alive, according to GStreamer's own leak tracer in a separate process.
@Suite struct LeakTests {
    @Test(.timeLimit(.minutes(5))) func nothingStaysAlive() async throws {
        let result = try #require(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try await LeakTests.underTracer { try await LeakTests.useEverything() }
            })
        let report = try LeakTests.report(result)
        #expect(report.isEmpty, "\(report)")
    }

    /// Control: a pipeline that is kept is reported.
    @Test(.timeLimit(.minutes(5))) func theTracerSeesALeak() async throws {
        let result = try #require(
            await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                try await LeakTests.underTracer {
                    let pipeline = try Pipeline("fakesrc ! fakesink", name: "kept")
                    _ = Unmanaged.passRetained(pipeline)
                }
            })
        #expect(!(try LeakTests.report(result)).isEmpty)
    }

    private static func underTracer(_ body: () async throws -> Void) async throws {
        setenv("GST_TRACERS", "leaks", 1)
        setenv("GST_DEBUG", "GST_TRACER:7", 1)
        setenv("GST_DEBUG_NO_COLOR", "1", 1)
        try await body()
        GStreamerRuntime.shutDownForLeakCheck()
        FileHandle.standardError.write(Data("leak check done\n".utf8))
    }

    /// Returns the tracer's lines about live objects.
    private static func report(_ result: ExitTest.Result) throws -> [Substring] {
        let text = String(decoding: result.standardErrorContent, as: UTF8.self)
        try #require(text.contains("leak check done"), "\(text)")
        return text.split(separator: "\n").filter {
            $0.contains("object-alive, type-name=(string)") && !$0.contains("%s")
        }
    }

    private static func useEverything() async throws {
        for round in 0..<5 {
            let format = VideoFormat(width: 128, height: 96, fps: .init(20))
            let pool = try CanvasPool(format: format)
            let pipeline = try Pipeline(
                "appsrc name=in format=time ! x264enc tune=zerolatency ! h264parse ! avdec_h264 ! "
                    + "appsink name=out sync=false async=false", name: "round\(round)")
            let frames = Collector<VideoFrame?>()
            try pipeline.appSink("out") { sample in
                frames.add(sample.videoFrame())
                _ = (sample.capsString, sample.codecData, sample.bytes)
            }
            let source = try pipeline.appSource("in")
            try source.setCaps(format)
            try await pipeline.play()
            for index in 0..<20 {
                let canvas = try #require(pool.acquire())
                canvas.fill(y: UInt8(index), u: 128, v: 128)
                if index == 10 { source.pushForceKeyUnit(runningTime: 500_000_000) }
                source.push(canvas, pts: UInt64(index) * 50_000_000)
            }
            source.endOfStream()
            _ = await pipeline.finish()
            let picture = try #require(frames.all.first ?? nil)
            let converter = try VideoConverter(
                from: picture.format, to: format, destinationRect: VideoRect(x: 0, y: 0, width: 64, height: 48))
            converter.draw(picture, onto: try #require(pool.acquire()))
            await pipeline.tearDown()
            try encodeDirectly(format, pool, round: round)
            let drawing = try await ImageDecoder.svg(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"64\" height=\"48\"><text>\(round)</text></svg>")
            let file = try await drawing.png()
            _ = try await ImageDecoder.image(file, as: .png, width: 64, height: 48, orientation: .quarterLeft)
            // Errors on the way: invalid pictures, a missing element, and a pipeline that never played.
            _ = try? await ImageDecoder.svg("<svg")
            _ = try? await ImageDecoder.image(file, as: .jpeg, width: 64, height: 48)
            _ = try? await ImageDecoder.image(file, as: .png, width: 64, height: 50)
            _ = try? Pipeline("fakesrc ! nosuchelement ! fakesink", name: "broken")
            let failing = try Pipeline("filesrc location=/nonexistent ! fakesink", name: "failing")
            try? await failing.play()
            await failing.tearDown()
        }
    }

    private static func encodeDirectly(_ format: VideoFormat, _ pool: CanvasPool, round: Int) throws {
        let frames = Collector<VideoFrame?>()
        let chain = try DirectPipeline(
            ["x264enc tune=zerolatency threads=1", "video/x-h264,stream-format=avc", "avdec_h264 max-threads=1"],
            caps: .pictures(format), name: "direct\(round)"
        ) { frames.add($0.videoFrame()) }
        try chain.start()
        for index in 0..<5 {
            if index == 3 { chain.pushForceKeyUnit(runningTime: 150_000_000) }
            chain.push(try #require(pool.acquire()), pts: UInt64(index) * 50_000_000)
        }
        // Pictures outlive their decoder. The chain of an odd round is dropped without a tear-down, and one has never
        // started.
        if round % 2 == 0 { chain.tearDown() }
        #expect(frames.all.count == 5)
        _ = try DirectPipeline(["identity"], caps: .text("application/x-test"), name: "never") { _ in }
        _ = try? DirectPipeline(["fakesrc"], caps: .text("application/x-test"), name: "no chain") { _ in }
    }
}
