import Foundation
import GStreamerKit
import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

/// A mix's frames without decoders, encoders and clocks: its own state, easel and composer, with time advanced by hand.
struct MixerStage {
    static let signal = ColourSignal(primaries: 1, transfer: 1, matrix: 1)

    var state: MixState
    let easel: Easel
    /// Pictures of the sources, delivered anew for each frame of the canvas, at its time.
    var sources: [SourceID: SourcePicture] = [:]
    /// Whether ordered graphics are drawn at once.
    var draws = true
    /// Errors of drawing.
    var failures: [GStreamerError] = []
    /// Program time, which is that of the last frame made.
    private(set) var now: MediaTime = .zero
    /// The last composition.
    private(set) var composition: Composition?
    /// Cost of painting it, in ms.
    private(set) var composingTime = 0.0
    /// Seconds since 1970 at program time 0.
    var epoch = 1_700_000_000.0

    private let composer: CanvasComposer

    init(_ canvas: Canvas) throws {
        let setup = MixerSetup(
            canvas: canvas, videoOrigin: .zero, audioOrigin: .zero, programStart: 0, sampleRate: 48_000, channels: 2,
            colour: Self.signal, videoBitrate: 1_000_000, audioBitrate: 128_000, host: nil)
        let colour = CanvasColour(signal: Self.signal, canvas: canvas)
        state = MixState(setup: setup)
        easel = Easel(canvas: canvas, colour: colour)
        composer = try CanvasComposer(canvas: canvas, colour: colour)
    }

    mutating func show(_ scene: Scene) { state.show(scene, at: now) }

    /// Advances time to the next frame of the canvas, and makes the frame.
    mutating func next() async throws -> VideoFrame {
        let time = state.time(ofTick: state.nextTick)
        now = max(now, time)
        for (id, picture) in sources {
            state.begin(id)
            state.noteFed(.video, at: time, of: id, now: now)
            state.add(picture, at: time, of: id, now: now)
        }
        while true {
            let step = state.nextVideo(now: now, epoch: epoch)
            while draws, let graphic = state.shelf.takeOrder() {
                do throws(GStreamerError) {
                    state.shelf.deliver(try await easel.draw(graphic), for: graphic)
                } catch {
                    failures.append(error)
                    state.shelf.deliver(nil, for: graphic)
                }
            }
            switch step {
            case .make(let job):
                return try compose(job)
            case .wait(let until):
                // The graphics drawn meanwhile may complete the frame.
                if case .make(let job) = state.nextVideo(now: now, epoch: epoch) { return try compose(job) }
                now = try #require(until, "nothing is to be made")
            }
        }
    }

    private mutating func compose(_ job: VideoJob) throws -> VideoFrame {
        composition = job.composition
        let begin = Self.processTime
        defer { composingTime = Self.processTime - begin }
        return try #require(composer.compose(job.composition))
    }

    /// CPU time of the process, in ms.
    static var processTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1000 + Double(time.tv_nsec) / 1e6
    }

    /// Returns the frame `count` frames from now.
    mutating func frame(after count: Int) async throws -> VideoFrame {
        for _ in 1..<count { _ = try await next() }
        return try await next()
    }

    /// Returns a picture of one colour, in BT.709 like the canvas.
    static func picture(_ colour: RGB, width: Int = 64, height: Int = 64) throws -> SourcePicture {
        let (y, u, v) = CanvasColour(signal: signal, canvas: .portrait).planes(of: colour)
        let frame = try #require(try CanvasPool(format: VideoFormat(width: width, height: height)).acquire())
        frame.fill(y: y, u: u, v: v)
        return SourcePicture(frame: frame, colour: signal)
    }
}

extension RGB {
    static let brick = RGB(red: 200, green: 30, blue: 30)
    static let moss = RGB(red: 30, green: 160, blue: 40)
    static let ocean = RGB(red: 30, green: 60, blue: 200)
    static let grey = RGB(red: 128, green: 128, blue: 128)

    /// Returns the largest difference of a channel.
    func distance(to other: RGB) -> Int {
        max(
            abs(Int(red) - Int(other.red)), abs(Int(green) - Int(other.green)), abs(Int(blue) - Int(other.blue)))
    }

    /// Returns this colour with `share` of another over it.
    func under(_ other: RGB, _ share: Double) -> RGB {
        func mix(_ below: UInt8, _ above: UInt8) -> UInt8 {
            UInt8((Double(below) * (1 - share) + Double(above) * share).rounded())
        }
        return RGB(red: mix(red, other.red), green: mix(green, other.green), blue: mix(blue, other.blue))
    }
}

extension VideoFrame {
    /// Returns the colour of a pixel of a BT.709 picture of limited range.
    func pixel(_ x: Int, _ y: Int) -> RGB {
        func sample(_ plane: Int, _ x: Int, _ y: Int) -> Double {
            withPlane(plane) { bytes, stride, _, _ in Double(bytes[y * stride + x]) } ?? 0
        }
        let luma = (sample(0, x, y) - 16) * 255 / 219
        let (u, v) = ((sample(1, x / 2, y / 2) - 128) * 255 / 224, (sample(2, x / 2, y / 2) - 128) * 255 / 224)
        func byte(_ value: Double) -> UInt8 { UInt8(min(255, max(0, value.rounded()))) }
        let (red, blue) = (luma + 1.5748 * v, luma + 1.8556 * u)
        return RGB(red: byte(red), green: byte((luma - 0.2126 * red - 0.0722 * blue) / 0.7152), blue: byte(blue))
    }
}
