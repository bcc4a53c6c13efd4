import Dispatch
import EncodedMedia
import GStreamerKit
import LayoutEngine
import MediaFormats
import MixModel
import ProgramSplicer
import Synchronization

/// The canvas's encoder. Accepts pictures by tick and delivers access units with the program times given for them.
///
/// One thread pushes. Pictures are encoded in order, on that thread or on the encoder's own, as `EncodingPlace`
/// chooses; hardware always has its own thread.
final class VideoEncoder: Sendable {
    private let chain: any EncodingChain
    private let fps: Int
    private let desk: Desk
    private let queue = DispatchQueue(label: "mixer-video-encoder")
    private let work: Mutex<Work>

    private struct Work {
        var place: EncodingPlace
        /// Pictures that the encoder's own thread has not finished.
        var waiting = 0
        var isOver = false
    }

    /// Creates an encoder that is not running yet.
    /// - Parameters:
    ///   - kind: Kind of encoder, of the setup's codec.
    ///   - output: Called on the encoding thread, with the configuration before the first frame.
    init(
        _ kind: any VideoEncoderKind.Type, format: VideoFormat, setup: MixerSetup, colour: CanvasColour,
        tuning: EncoderTuning, output: @escaping @Sendable (MixerReport) -> Void
    ) throws(GStreamerError) {
        fps = setup.canvas.fps
        let numbers =
            kind.isHardware && kind.codec == .h264
            ? ParameterSetNumbers(sequence: UInt32(ParameterSetNumber.ofMix)) : nil
        let desk = Desk(codec: kind.codec, numbers: numbers, fps: setup.canvas.fps, output: output)
        self.desk = desk
        var tuning = tuning
        tuning.threads = EncoderThreads.count(setup, default: tuning.threads)
        work = Mutex(Work(place: EncodingPlace(interval: .units(1, rate: setup.canvas.fps))))
        let request = EncoderRequest(
            setup, colour: colour.signal, keyframeDistance: setup.keyframeDistance, tuning: tuning)
        let elements = kind.elements(request)
        let name = "mixer-video-encoder"
        if kind.isHardware {
            chain = try QueuedChain(elements, format: format, name: name) { sample in desk.deliver(sample) }
        } else {
            chain = try DirectPipeline(elements, caps: .pictures(format), name: name) { sample in desk.deliver(sample) }
        }
    }

    /// Opens the codec. Blocks, so it must not be called on the cooperative pool.
    func start() throws { try chain.start() }

    /// Ends the encoder and waits for the picture that is being encoded.
    func tearDown() {
        work.withLock { $0.isOver = true }
        queue.sync {}
        chain.tearDown()
    }

    /// Tears down without waiting, because a failed encoder may never end.
    func abandon() {
        work.withLock { $0.isOver = true }
        chain.abandon()
    }

    /// The encoder's first error, if any.
    var failure: BusFailure? { chain.firstError }

    /// Encodes the picture of tick `tick`, which is shown at program time `time`, at once or later.
    func push(_ frame: VideoFrame, tick: Int64, at time: MediaTime, isIDR: Bool) {
        let isBeside = work.withLock { work in
            guard work.place.isBeside || work.waiting > 0 else { return false }
            work.waiting += 1
            return true
        }
        guard isBeside else { return encode(frame, tick: tick, at: time, isIDR: isIDR) }
        queue.async { [self] in
            if !work.withLock({ $0.isOver }) { encode(frame, tick: tick, at: time, isIDR: isIDR) }
            work.withLock { $0.waiting -= 1 }
        }
    }

    private func encode(_ frame: VideoFrame, tick: Int64, at time: MediaTime, isIDR: Bool) {
        let begin = MonotonicClock.now()
        let running = UInt64(MediaTime.units(tick, rate: fps).nanoseconds)
        let isFirst = desk.note(tick: tick, at: time)
        // The first picture is an IDR anyway. If one is requested for it, GStreamer 1.22 reads its time as 1000 h and
        // ignores all further requests.
        if isIDR, !isFirst { chain.requestKeyframe(at: running) }
        chain.encode(frame, at: running, duration: UInt64(MediaTime.units(1, rate: fps).nanoseconds))
        work.withLock { $0.place.noteEncoded(taking: MediaTime(nanoseconds: MonotonicClock.now() - begin)) }
    }
}

/// The pictures inside an encoder, and the delivery of their access units.
private final class Desk: Sendable {
    private let codec: VideoCodec
    /// New numbers of the stream's parameter sets; `nil` if the encoder has assigned the right ones.
    private let numbers: ParameterSetNumbers?
    private let fps: Int
    private let output: @Sendable (MixerReport) -> Void
    private let pending = Mutex(Pending())

    private struct Pending {
        /// Program time by tick, from the push to the access unit.
        var times: [Int64: MediaTime] = [:]
        var hasBegun = false
        var configuration: [UInt8]?
        var known: VideoConfiguration?
    }

    init(
        codec: VideoCodec, numbers: ParameterSetNumbers?, fps: Int, output: @escaping @Sendable (MixerReport) -> Void
    ) {
        self.codec = codec
        self.numbers = numbers
        self.fps = fps
        self.output = output
    }

    /// Records that a picture is pushed next.
    /// - Returns: Whether it is the first one.
    func note(tick: Int64, at time: MediaTime) -> Bool {
        pending.withLock { pending in
            pending.times[tick] = time
            defer { pending.hasBegun = true }
            return !pending.hasBegun
        }
    }

    func deliver(_ sample: borrowing Sample) {
        guard let running = sample.runningTime else { return }
        let tick = MediaTime(nanoseconds: running).units(rate: fps)
        let codecData = sample.codecData.flatMap { data in numbers.map { $0.record(data) } ?? data }
        let (time, isNew, known) = pending.withLock { pending in
            let isNew = codecData != nil && codecData != pending.configuration
            if isNew {
                pending.configuration = codecData
                pending.known = codecData.flatMap { VideoConfiguration(CodecConfiguration(codec, bytes: $0)) }
            }
            return (pending.times.removeValue(forKey: tick), isNew, pending.known)
        }
        if isNew, let codecData { output(.configuration(CodecConfiguration(codec, bytes: codecData))) }
        let bytes = sample.bytes
        // A picture that cannot be renumbered is missing, like one that the encoder has not made.
        guard let time, let payload = numbers.map({ $0.accessUnit(bytes) }) ?? bytes else { return }
        var frame = EncodedFrame(track: .video, pts: time, dts: time, isIDR: !sample.isDelta, payload: payload)
        // Repeated before each IDR, for viewers that keep the first parameter sets they read.
        if frame.isIDR { frame.payload = frame.withParameterSets(of: known) }
        output(.frame(frame))
    }
}
