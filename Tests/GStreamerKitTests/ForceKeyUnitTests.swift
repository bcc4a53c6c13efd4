import GStreamerKit
import Testing

@Suite(.timeLimit(.minutes(3))) struct ForceKeyUnitTests {
    /// The request does not overtake pictures: only the first picture and the one with the requested time are IDRs.
    @Test(arguments: [[7], [3, 4, 30], [12, 41]])
    func thePictureWithTheAskedTimeIsAnIDR(asked: [Int]) async throws {
        let fps = 25
        let format = VideoFormat(width: 64, height: 64, fps: .init(fps))
        let pipeline = try Pipeline(
            "appsrc name=in format=time max-bytes=0 ! queue ! x264enc tune=zerolatency key-int-max=1000 speed-preset=ultrafast "
                + "option-string=scenecut=0 ! video/x-h264,stream-format=avc,alignment=au ! appsink name=out sync=false async=false",
            name: "idr")
        let keys = Collector<Int64>()
        let nals = Collector<Bool>()
        try pipeline.appSink("out") { sample in
            nals.add(sample.withBytes(containsIDR) == !sample.isDelta)
            if !sample.isDelta { keys.add(sample.runningTime ?? -1) }
        }
        let source = try pipeline.appSource("in")
        try source.setCaps(format)
        let pool = try CanvasPool(format: format)
        try await pipeline.play()
        let time = { (index: Int) in UInt64(index) * 1_000_000_000 / UInt64(fps) }
        for index in 0..<50 {
            if asked.contains(index) { #expect(source.pushForceKeyUnit(runningTime: time(index))) }
            let canvas = try #require(pool.acquire())
            canvas.fill(y: UInt8(index * 5 % 255), u: 100, v: 200)
            #expect(source.push(canvas, pts: time(index), duration: time(1)) == .ok)
        }
        source.endOfStream()
        #expect(await pipeline.finish() == .endOfStream)
        await pipeline.tearDown()
        #expect(keys.all == ([0] + asked).map { Int64(time($0)) })
        #expect(nals.all == Array(repeating: true, count: 50))
    }
}

/// Returns whether an AVC access unit (4-byte lengths) contains a NAL unit of type 5.
private func containsIDR(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var offset = 0
    while offset + 4 < bytes.count {
        let length = (0..<4).reduce(0) { $0 << 8 | Int(bytes[offset + $1]) }
        if bytes[offset + 4] & 0x1F == 5 { return true }
        offset += 4 + length
    }
    return false
}
