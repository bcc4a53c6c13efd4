import Foundation
import GStreamerKit
import MixModel
import Synchronization
import TestSupport

@testable import EncodedMedia
@testable import ProgramMixer

/// A growing list filled by callbacks of other threads.
final class Gathered<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])
    func add(_ element: Element) { elements.withLock { $0.append(element) } }
    var all: [Element] { elements.withLock { $0 } }
}

/// An elementary stream whose times begin at 0.
struct TestTrack: Sendable {
    var configuration: CodecConfiguration
    var frames: [EncodedFrame]

    /// Returns the same stream at another time, with `lateness` added to its delivery and noise to its timestamps.
    func moved(by offset: MediaTime, noise: (Int) -> MediaTime = { _ in .zero }) -> TestTrack {
        var copy = self
        for index in copy.frames.indices {
            let shift = offset + noise(index)
            copy.frames[index].pts += shift
            copy.frames[index].dts += shift
        }
        return copy
    }

    /// Returns the same stream this many times in succession. Repetitions are not encoded again, and the marks start
    /// anew each time.
    func looped(_ times: Int) -> TestTrack {
        guard frames.count > 1, let first = frames.first, let last = frames.last else { return self }
        let count = Int64(frames.count)
        let length = MediaTime(nanoseconds: (last.dts - first.dts).nanoseconds * count / (count - 1))
        var copy = self
        for round in 1..<Int64(max(times, 1)) { copy.frames += moved(by: length * round).frames }
        return copy
    }
}

/// The content of a test's picture.
struct TestPicture: Sendable {
    var width = 360
    var height = 640
    var fps = 20
    /// Y, U, V of everything except the mark; in succession, frame by frame.
    var palette: [SIMD3<UInt8>] = [SIMD3(90, 128, 128)]
}

enum TestMark {
    static let bits = 10

    /// Returns the size of a bit's square in a picture of this width.
    static func square(_ width: Int) -> Int { width / 20 / 2 * 2 }

    /// Returns the number drawn in the rectangle of a picture; `nil` if it cannot be read.
    static func read(_ frame: VideoFrame, x: Int = 0, y: Int = 0, width: Int) -> Int? {
        let side = Double(width) / 20
        let value = frame.withPlane(0) { bytes, stride, _, _ -> Int? in
            var value = 0
            for bit in 0..<bits {
                let column = x + Int((Double(bit) + 0.5) * side)
                let luma = bytes[(y + Int(side / 2)) * stride + column]
                if luma > 80, luma < 170 { return nil }
                value |= luma >= 170 ? 1 << bit : 0
            }
            return value
        }
        return value ?? nil
    }
}

enum TestStreams {
    /// Returns H.264 or H.265 video whose frame `n` carries the mark `n`.
    ///
    /// - Parameters:
    ///   - first: The first mark. Times begin with it.
    ///   - options: Options of x264; with H.265, of x265.
    static func video(
        _ picture: TestPicture = TestPicture(), first: Int = 0, count: Int, keyInterval: Int = 40, bFrames: Int = 0,
        options: String = "colorprim=undef:transfer=undef:colormatrix=undef", layout: String = "I420",
        codec: VideoCodec = .h264
    ) async throws -> TestTrack {
        let format = VideoFormat(width: picture.width, height: picture.height, fps: .init(picture.fps))
        let tune = bFrames == 0 ? "tune=zerolatency" : ""
        let encoder =
            switch codec {
            case .h264:
                """
                x264enc \(tune) bframes=\(bFrames) b-adapt=false key-int-max=\(keyInterval) speed-preset=ultrafast \
                pass=quant quantizer=18 threads=1 aud=false insert-vui=false option-string="scenecut=0:\(options)" ! \
                video/x-h264,stream-format=avc,alignment=au
                """
            case .h265:
                """
                x265enc \(tune) key-int-max=\(keyInterval) speed-preset=ultrafast option-string="scenecut=0:b-adapt=0:\
                bframes=\(bFrames):keyint=\(keyInterval):min-keyint=\(keyInterval):info=0:\(options)" ! h265parse ! \
                video/x-h265,stream-format=hvc1,alignment=au
                """
            }
        let pipeline = try Pipeline(
            """
            appsrc name=in format=time max-bytes=0 ! videoconvert ! video/x-raw,format=\(layout) ! \(encoder) ! \
            appsink name=out sync=false async=false
            """, name: "test-video")
        let frames = Gathered<EncodedFrame>()
        let configuration = Gathered<[UInt8]>()
        try pipeline.appSink("out") { sample in
            if configuration.all.isEmpty, let data = sample.codecData { configuration.add(data) }
            frames.add(
                EncodedFrame(
                    track: .video, pts: MediaTime(nanoseconds: sample.runningTime ?? 0),
                    dts: MediaTime(nanoseconds: sample.decodingRunningTime ?? 0), isIDR: !sample.isDelta,
                    payload: sample.bytes))
        }
        let source = try pipeline.appSource("in")
        try source.setCaps(format)
        let pool = try CanvasPool(format: format)
        let side = TestMark.square(picture.width)
        let dot = VideoFormat(width: side, height: side)
        let dots = try CanvasPool(format: dot)
        let white = try require(dots.acquire())
        white.fill(y: 235, u: 128, v: 128)
        let black = try require(dots.acquire())
        black.fill(y: 16, u: 128, v: 128)
        let painters = try (0..<TestMark.bits).map { bit in
            try VideoConverter(
                from: dot, to: format,
                destinationRect: VideoRect(x: bit * side, y: 0, width: side, height: side))
        }
        try await pipeline.play()
        for index in first..<first + count {
            let canvas = try require(pool.acquire())
            let colour = picture.palette[index % picture.palette.count]
            canvas.fill(y: colour.x, u: colour.y, v: colour.z)
            for (bit, painter) in painters.enumerated() {
                painter.draw(index >> bit & 1 == 1 ? white : black, onto: canvas)
            }
            source.push(
                canvas, pts: UInt64(MediaTime.units(Int64(index), rate: picture.fps).nanoseconds),
                duration: UInt64(MediaTime.units(1, rate: picture.fps).nanoseconds))
        }
        try await finish(pipeline, source)
        return TestTrack(
            configuration: CodecConfiguration(codec, bytes: configuration.all.first ?? []), frames: frames.all)
    }

    /// Returns AAC-LC; `signal` gives the sample (−1…1) at an index, the same for every channel.
    static func audio(
        rate: Int = 48_000, channels: Int = 2, count: Int, signal: (Int) -> Float
    ) async throws -> TestTrack {
        let packets = Gathered<MixerReport>()
        let encoder = try AudioEncoder(sampleRate: rate, channels: channels, bitrate: 128_000) { packets.add($0) }
        try encoder.start()
        for frame in 0..<count + 2 {
            let samples = (0..<1024).flatMap { index in
                [Float](repeating: signal(frame * 1024 + index), count: channels)
            }
            encoder.push(samples, at: .units(Int64(frame) * 1024, rate: rate))
        }
        try await until { packets.all.count > count }
        encoder.tearDown()
        var track = TestTrack(configuration: CodecConfiguration(track: .audio, bytes: []), frames: [])
        for packet in packets.all {
            switch packet {
            case .configuration(let configuration): track.configuration = configuration
            case .frame(let frame): track.frames.append(frame)
            default: break
            }
        }
        return track
    }

    /// Decodes pictures, in display order.
    ///
    /// - Parameter missing: Number of pictures that the decoder may withhold, because it does not know of the end of
    ///   the stream.
    static func pictures(_ track: TestTrack, missing: Int = 0) async throws -> [(
        time: MediaTime, picture: SourcePicture
    )] {
        let found = Gathered<(time: MediaTime, picture: SourcePicture)>()
        let decoder = try TrackDecoder(
            track.configuration, name: "test-decoder", sampleRate: 48_000, channels: 2, paces: DecodingPaces(),
            output: DecoderOutput(picture: { found.add(($0, $1)) }, sound: { _, _ in }, failed: { _, _ in }))
        try decoder.start()
        for frame in track.frames where decoder.admits(frame) { decoder.push(frame) }
        try? await until { found.all.count >= track.frames.count - missing }
        decoder.tearDown()
        return found.all
    }

    /// Decodes sound: each packet's samples with the packet's time.
    static func sound(
        _ track: TestTrack, rate: Int = 48_000, channels: Int = 2
    ) async throws -> [(time: MediaTime, samples: [Float])] {
        let found = Gathered<(time: MediaTime, samples: [Float])>()
        let decoder = try TrackDecoder(
            track.configuration, name: "test-decoder", sampleRate: rate, channels: channels, paces: DecodingPaces(),
            output: DecoderOutput(picture: { _, _ in }, sound: { found.add(($0, $1)) }, failed: { _, _ in }))
        try decoder.start()
        for frame in track.frames where decoder.admits(frame) { decoder.push(frame) }
        try? await until { found.all.count == track.frames.count }
        decoder.tearDown()
        return found.all
    }

    private static func finish(_ pipeline: Pipeline, _ source: AppSource) async throws {
        source.endOfStream()
        for await event in pipeline.events {
            if case .error(let failure) = event { throw GStreamerError(.syntax, failure.description) }
            if event == .endOfStream { break }
        }
        await pipeline.tearDown()
    }

    private static func require<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw GStreamerError(.resource, "nothing") }
        return value
    }
}

/// Waits until a condition holds, 30 s at most. The error names the place that waited.
func until(file: StaticString = #fileID, line: UInt = #line, _ condition: () -> Bool) async throws {
    guard try await poll(within: .seconds(30), every: .milliseconds(5), { condition() ? true : nil }) != nil else {
        throw GStreamerError(.resource, "waited in vain at \(file):\(line)")
    }
}
