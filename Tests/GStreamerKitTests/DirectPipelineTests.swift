import Dispatch
import Foundation
import GStreamerKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(3))) struct DirectPipelineTests {
    private static let format = VideoFormat(width: 64, height: 64, fps: .init(25))

    private static func time(_ index: Int) -> UInt64 { UInt64(index) * 40_000_000 }

    private func bytes(_ bytes: [UInt8], into chain: DirectPipeline, pts: UInt64?) -> DirectPipeline.Flow {
        bytes.withUnsafeBytes { chain.push(bytes: $0, pts: pts, dts: pts, duration: 10) }
    }

    @Test func whatComesOutIsDeliveredBeforeThePushReturnsOnItsThread() throws {
        let got = Collector<(pts: UInt64?, running: Int64?, bytes: [UInt8], thread: pthread_t)>()
        let chain = try DirectPipeline(["identity"], caps: .text("application/x-test"), name: "bytes") { sample in
            got.add((sample.pts, sample.runningTime, sample.bytes, pthread_self()))
        }
        #expect(bytes([9], into: chain, pts: 0) == .flushing, "not started yet")
        try chain.start()
        #expect(bytes([1, 2, 3], into: chain, pts: 30) == .ok)
        #expect(got.all.map(\.bytes) == [[1, 2, 3]])
        #expect(got.all.map(\.pts) == [30] && got.all.map(\.running) == [30])
        #expect(got.all.first?.thread == pthread_self())
        #expect(bytes([], into: chain, pts: nil) == .ok)
        #expect(got.all.last?.bytes == [])
        chain.tearDown()
        chain.tearDown()
        #expect(bytes([4], into: chain, pts: 40) == .flushing)
        #expect(got.all.count == 2)
        #expect(throws: GStreamerError.self) { try chain.start() }
    }

    @Test func whatCannotBeMadeIsNamed() throws {
        func make(_ elements: [String], _ caps: String = "application/x-test") throws {
            _ = try DirectPipeline(elements, caps: .text(caps), name: "broken") { _ in }
        }
        let missing = #expect(throws: GStreamerError.self) { try make(["nosuchelement"]) }
        #expect(missing?.code == .missingElement && missing?.message.contains("'nosuchelement'") == true)
        #expect(#expect(throws: GStreamerError.self) { try make(["identity", ""]) }?.code == .syntax)
        #expect(#expect(throws: GStreamerError.self) { try make(["fakesrc"]) }?.code == .syntax, "no entrance")
        let chain = try DirectPipeline(["identity"], caps: .text("no caps, ="), name: "caps") { _ in }
        #expect(#expect(throws: GStreamerError.self) { try chain.start() }?.code == .syntax)
    }

    /// A requested picture is an IDR. An encoder and a decoder in series agree on their caps, hold no picture back, and
    /// do not copy pictures.
    @Test(arguments: [[7], [3, 4, 30], [12, 41]]) func aPictureThatIsAskedForIsAnIDR(asked: [Int]) throws {
        let units = Collector<(pts: Int64?, isDelta: Bool, bytes: [UInt8])>()
        let configuration = Collector<[UInt8]>()
        let encoder = try DirectPipeline(
            [
                "x264enc tune=zerolatency key-int-max=1000 speed-preset=ultrafast option-string=scenecut=0 threads=1",
                "video/x-h264,stream-format=avc,alignment=au",
            ], caps: .pictures(Self.format), name: "encoder"
        ) { sample in
            if configuration.all.isEmpty, let data = sample.codecData { configuration.add(data) }
            units.add((sample.runningTime, sample.isDelta, sample.bytes))
        }
        try encoder.start()
        let pool = try CanvasPool(format: Self.format)
        for index in 0..<50 {
            if asked.contains(index) { #expect(encoder.pushForceKeyUnit(runningTime: Self.time(index))) }
            let canvas = try #require(pool.acquire())
            canvas.fill(y: UInt8(40 + index * 2), u: 100, v: 200)
            #expect(encoder.push(canvas, pts: Self.time(index), duration: Self.time(1)) == .ok)
            #expect(units.all.count == index + 1)
        }
        encoder.tearDown()
        #expect(units.all.filter { !$0.isDelta }.map(\.pts) == ([0] + asked).map { Int64(Self.time($0)) })

        let pictures = Collector<(pts: UInt64?, luma: UInt8)>()
        let record = configuration.all.first ?? []
        let text = record.map { String(format: "%02x", $0) }.joined()
        let decoder = try DirectPipeline(
            ["avdec_h264 max-threads=1"],
            caps: .text("video/x-h264,stream-format=avc,alignment=au,codec_data=(buffer)\(text)"), name: "decoder"
        ) { sample in
            guard let frame = sample.videoFrame() else { return }
            pictures.add((sample.pts, frame.plane(0)[64 * 32 + 32]))
        }
        try decoder.start()
        for (index, unit) in units.all.enumerated() {
            #expect(bytes(unit.bytes, into: decoder, pts: Self.time(index)) == .ok)
            #expect(pictures.all.count == index + 1)
        }
        decoder.tearDown()
        for (index, picture) in pictures.all.enumerated() {
            #expect(picture.pts == Self.time(index))
            #expect(abs(Int(picture.luma) - (40 + index * 2)) < 6)
        }
    }

    @Test func aFailingElementReportsWhatAndWhy() throws {
        let chain = try DirectPipeline(
            ["identity error-after=2"], caps: .text("application/x-test"), name: "failing"
        ) { _ in }
        try chain.start()
        #expect(chain.firstError == nil)
        let flows = (0..<3).map { bytes([1], into: chain, pts: UInt64($0)) }
        #expect(flows.first == .ok && flows.contains(.error))
        #expect(chain.firstError?.source.hasPrefix("identity") == true)
        chain.tearDown()
    }

    /// A tear-down waits for the push in progress, however long it takes.
    @Test func tearDownWaitsForThePushUnderWay() throws {
        let (entered, left) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let isOver = Mutex(false)
        let chain = try DirectPipeline(["identity"], caps: .text("application/x-test"), name: "slow") { _ in
            entered.signal()
            left.wait()
            isOver.withLock { $0 = true }
        }
        try chain.start()
        let pusher = Thread { [UInt8](repeating: 1, count: 4).withUnsafeBytes { _ = chain.push(bytes: $0) } }
        pusher.start()
        entered.wait()
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(50)) { left.signal() }
        chain.tearDown()
        #expect(isOver.withLock { $0 })
    }

    @Test func aChainThatIsForgottenReleasesItsReceiver() throws {
        final class Marker: Sendable {}
        weak var marker: Marker?
        do {
            let held = Marker()
            marker = held
            let chain = try DirectPipeline(["identity"], caps: .text("application/x-test"), name: "forgotten") { _ in
                _ = held
            }
            try chain.start()
            #expect(bytes([1], into: chain, pts: 0) == .ok)
        }
        #expect(marker == nil)
    }
}
