import GStreamerKit
import LayoutEngine
import MixModel
import ProgramSplicer
import Synchronization

/// How much work the encoder puts into a picture.
public struct EncoderTuning: Hashable, Sendable {
    /// A preset of x264, for programs that name none.
    public var preset: String
    /// Threads (slices) per picture.
    public var threads: Int

    public init(preset: String = "veryfast", threads: Int = 1) {
        self.preset = preset
        self.threads = threads
    }
}

/// The canvas's H.264 encoder. Ticks go in, access units with the times given for these come out.
final class VideoEncoder: Sendable {
    private let pipeline: Pipeline
    private let source: AppSource
    private let fps: Int
    private let pending: Mutex<Pending>

    /// Of our SPS and PPS. Sources nearly always use 0: with another number, a viewer's parser can keep both sets, and
    /// reads the access units around a splice with the right one.
    private static let parameterSetID = 7

    /// Longest distance of two key frames where nothing is asked for, in seconds.
    static let keyframeSeconds = 2

    private struct Pending {
        /// Program time by tick, from the push to the access unit.
        var times: [Int64: MediaTime] = [:]
        var hasBegun = false
        var configuration: [UInt8]?
        /// Repeated before each IDR, for viewers that keep to what they read first.
        var parameterSets: [UInt8] = []
    }

    /// - Parameter output: Called on the encoder's thread, the configuration before the first frame.
    init(
        format: VideoFormat, setup: MixerSetup, colour: CanvasColour, tuning: EncoderTuning,
        output: @escaping @Sendable (MixerReport) -> Void
    ) throws(GStreamerError) {
        fps = setup.canvas.fps
        // A profile is asked for by what follows the encoder.
        let profile =
            switch setup.profile {
            case nil: ""
            case .baseline: ",profile=constrained-baseline"
            case .main: ",profile=main"
            case .high: ",profile=high"
            }
        // `insert-vui` would signal what the raw caps say, and raw caps cannot say "nothing"; x264's own options can.
        let description = [
            "appsrc name=in format=time is-live=true block=false max-bytes=0",
            """
            x264enc tune=zerolatency speed-preset=\(setup.preset?.rawValue ?? tuning.preset) threads=\(tuning.threads) \
            bitrate=\(max(1, setup.videoBitrate / 1000)) vbv-buf-capacity=1000 key-int-max=\(setup.keyframeDistance) bframes=0 \
            byte-stream=false aud=false insert-vui=false \
            option-string="weightp=0:sps-id=\(Self.parameterSetID):\(colour.encoderOptions)"
            """,
            "video/x-h264,stream-format=avc,alignment=au\(profile)",
            "appsink name=out sync=false async=false",
        ]
        pipeline = try Pipeline(description.joined(separator: " ! "), name: "mixer-video-encoder")
        source = try pipeline.appSource("in")
        try source.setCaps(format)
        pending = Mutex(Pending())
        try pipeline.appSink("out") { [weak self] sample in self?.deliver(sample, to: output) }
    }

    func start() async throws(GStreamerError) { try await pipeline.play() }
    func tearDown() async { await pipeline.tearDown() }
    /// What went wrong, if something did.
    var failure: BusFailure? { pipeline.firstError }

    /// Encodes the picture of tick `tick`, which is shown at `time` of the program.
    func push(_ frame: VideoFrame, tick: Int64, at time: MediaTime, isIDR: Bool) {
        let running = UInt64(MediaTime.units(tick, rate: fps).nanoseconds)
        let isFirst = pending.withLock { pending in
            pending.times[tick] = time
            defer { pending.hasBegun = true }
            return !pending.hasBegun
        }
        // The first is one anyway. Asked for it, GStreamer 1.22 takes its time for 1000 h and heeds no further request.
        if isIDR, !isFirst { source.pushForceKeyUnit(runningTime: running) }
        source.push(frame, pts: running, duration: UInt64(MediaTime.units(1, rate: fps).nanoseconds))
    }

    private func deliver(_ sample: borrowing Sample, to output: @Sendable (MixerReport) -> Void) {
        guard let running = sample.runningTime else { return }
        let tick = MediaTime(nanoseconds: running).units(rate: fps)
        let codecData = sample.codecData
        let (time, isNew, parameterSets) = pending.withLock { pending in
            let isNew = codecData != nil && codecData != pending.configuration
            if isNew {
                pending.configuration = codecData
                pending.parameterSets = codecData.flatMap { AVCConfiguration($0) }?.parameterSets ?? []
            }
            return (pending.times.removeValue(forKey: tick), isNew, pending.parameterSets)
        }
        if isNew, let codecData { output(.configuration(CodecConfiguration(track: .video, bytes: codecData))) }
        guard let time else { return }
        let isIDR = !sample.isDelta
        let payload = isIDR ? parameterSets + sample.bytes : sample.bytes
        output(.frame(EncodedFrame(track: .video, pts: time, dts: time, isIDR: isIDR, payload: payload)))
    }
}

extension MixerSetup {
    /// Longest distance of two key frames, in frames of the canvas.
    var keyframeDistance: Int { gopFrames ?? canvas.fps * VideoEncoder.keyframeSeconds }
}
