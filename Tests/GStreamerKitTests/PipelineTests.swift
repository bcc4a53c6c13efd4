import GStreamerKit
import Testing

@Suite(.timeLimit(.minutes(3))) struct PipelineTests {
    @Test func everySampleAndTheEndOfStreamArrive() async throws {
        let pipeline = try Pipeline(
            "videotestsrc num-buffers=25 ! video/x-raw,format=I420,width=64,height=48,framerate=25/1 "
                + "! appsink name=out sync=false", name: "count")
        let times = Collector<UInt64?>()
        let ends = Collector<Bool>()
        try pipeline.appSink("out") { sample in
            times.add(sample.pts)
        } onEndOfStream: {
            ends.add(true)
        }
        try await pipeline.play()
        #expect(await pipeline.finish() == .endOfStream)
        await pipeline.tearDown()
        #expect(times.all == (0..<25).map { UInt64($0) * 40_000_000 })
        #expect(ends.all.count == 1)
    }

    @Test func aMissingElementIsNamed() {
        let error = #expect(throws: GStreamerError.self) {
            try Pipeline("fakesrc ! nosuchelement ! fakesink", name: "broken")
        }
        #expect(error?.code == .missingElement)
        #expect(error?.message.contains("'nosuchelement'") == true)
    }

    @Test func aMissingElementNamesItsPackage() throws {
        try GStreamerRuntime.start()
        let missing = GStreamerRuntime.missingElements(["fakesink", "nosuchelement"])
        #expect(missing.map(\.name) == ["nosuchelement"])
        #expect(MissingElement(name: "x264enc").package == "gstreamer1.0-plugins-ugly")
        #expect(MissingElement(name: "rtmp2sink").description.contains("gstreamer1.0-plugins-bad"))
    }

    @Test func aDescriptionThatCannotBeReadIsASyntaxError() {
        let error = #expect(throws: GStreamerError.self) { try Pipeline("fakesrc ! ! fakesink", name: "broken") }
        #expect(error?.code == .syntax)
    }

    @Test func aFailingElementReportsWhatAndWhy() async throws {
        let pipeline = try Pipeline("filesrc location=/nonexistent/file ! fakesink", name: "file")
        await #expect(throws: GStreamerError.self) { try await pipeline.play() }
        guard case .error(let failure)? = await pipeline.finish() else {
            Issue.record("no error on the bus")
            return
        }
        #expect(failure.source.hasPrefix("filesrc"))
        #expect(failure.domain == "gst-resource-error-quark")
        #expect(failure.message == "Resource not found.", "\(failure.message)")
        #expect(pipeline.firstError == failure)
        await pipeline.tearDown()
    }

    @Test func tearDownEndsTheEventsAndMayBeRepeated() async throws {
        let pipeline = try Pipeline("videotestsrc is-live=true ! fakesink", name: "live")
        try await pipeline.play()
        async let first: Void = pipeline.tearDown()
        async let second: Void = pipeline.tearDown()
        _ = await (first, second)
        #expect(await pipeline.finish() == nil)
        await #expect(throws: GStreamerError.self) { try await pipeline.play() }
    }

    @Test func aPipelineThatIsForgottenStopsByItself() async throws {
        let events = try await forgottenPipeline()
        for await _ in events {}  // Ends only if the pipeline was dismantled.
    }

    private func forgottenPipeline() async throws -> AsyncStream<BusEvent> {
        let pipeline = try Pipeline("videotestsrc is-live=true ! fakesink", name: "forgotten")
        try await pipeline.play()
        return pipeline.events
    }

    @Test func bytesGoThroughUnchangedWithTheirTimes() async throws {
        let pipeline = try Pipeline(
            "appsrc name=in format=time caps=application/x-test ! queue ! appsink name=out sync=false async=false",
            name: "bytes")
        let got = Collector<[UInt64?]>()
        let payloads = Collector<[UInt8]>()
        let deltas = Collector<Bool>()
        try pipeline.appSink("out") { sample in
            got.add([sample.pts, sample.dts, sample.duration])
            payloads.add(sample.bytes)
            deltas.add(sample.isDelta)
        }
        let source = try pipeline.appSource("in")
        try await pipeline.play()
        #expect(source.push(bytes: [1, 2, 3], pts: 30, dts: 20, duration: 10) == .ok)
        #expect(source.push(bytes: [4], pts: nil, dts: nil, isDelta: true) == .ok)
        #expect(source.endOfStream() == .ok)
        #expect(await pipeline.finish() == .endOfStream)
        #expect(source.push(bytes: [5]) == .endOfStream)
        await pipeline.tearDown()
        #expect(source.push(bytes: [6]) == .flushing)
        #expect(got.all == [[30, 20, 10], [nil, nil, nil]])
        #expect(payloads.all == [[1, 2, 3], [4]])
        #expect(deltas.all == [false, true])
    }

    @Test func propertiesAreSetAndReadAsText() throws {
        let pipeline = try Pipeline("videotestsrc name=v ! fakesink name=s", name: "properties")
        let source = try pipeline.element("v")
        try source.set("pattern", to: "ball")
        #expect(source.text("pattern") == "ball")
        #expect(throws: GStreamerError.self) { try source.set("no-such-property", to: "1") }
        #expect(throws: GStreamerError.self) { try pipeline.element("nobody") }
        #expect(throws: GStreamerError.self) { try pipeline.appSource("v") }
        #expect(try pipeline.element("s").statistic("rendered") == 0)
    }
}
