import EncodedMedia
import GStreamerKit
import MediaFormats
import Synchronization

/// Receivers of the output of a source's decoders, in program time. Called on the decoders' threads.
struct DecoderOutput: Sendable {
    var picture: @Sendable (MediaTime, SourcePicture) -> Void
    /// Takes interleaved samples in the mix's rate and channels.
    var sound: @Sendable (MediaTime, [Float]) -> Void
    var failed: @Sendable (Track, String) -> Void
}

/// The decoder of one track of one source, for one codec configuration. Another configuration needs another decoder.
final class TrackDecoder: Sendable {
    let configuration: CodecConfiguration
    private let pipeline: Pipeline
    private let source: AppSource
    /// Reports a failure of the pipeline; ends with it.
    private let watcher: Task<Void, Never>
    /// Whether the next access unit must start a group of pictures.
    private let needsIDR = Mutex(true)

    /// Bytes that may wait for the decoder. Beyond that, on a machine that is too slow, a whole group of pictures is
    /// left out.
    private static let mostWaiting = 8 << 20

    /// Creates a decoder that is not running yet.
    /// - Throws: `GStreamerError` with code `.syntax`, if the configuration cannot be read.
    init(
        _ configuration: CodecConfiguration, name: String, sampleRate: Int, channels: Int, output: DecoderOutput
    ) throws(GStreamerError) {
        self.configuration = configuration
        let track = configuration.track
        let entrance = "appsrc name=in format=time is-live=true block=false max-bytes=0"
        let exit = "appsink name=out sync=false async=false"
        let decoding = VideoDecoding(configuration)
        let chain: [String]
        let caps: String
        switch track {
        case .video:
            guard let decoding else {
                throw GStreamerError(
                    .syntax, "the video configuration cannot be read: \(configuration.bytes.hexadecimal)")
            }
            chain = [entrance, decoding.element, exit]
            caps = decoding.caps
        case .audio:
            guard let audio = AudioSpecificConfig(configuration.bytes), audio.channels > 0 else {
                throw GStreamerError(
                    .syntax, "the audio configuration is not AAC: \(configuration.bytes.hexadecimal)")
            }
            chain = [
                entrance, "avdec_aac", "audioconvert", "audioresample",
                "audio/x-raw,format=F32LE,layout=interleaved,rate=\(sampleRate),channels=\(channels)", exit,
            ]
            caps =
                "audio/mpeg,mpegversion=4,framed=true,stream-format=raw,rate=\(audio.sampleRate),"
                + "channels=\(audio.channels),codec_data=(buffer)\(configuration.bytes.hexadecimal)"
        }
        pipeline = try Pipeline(chain.joined(separator: " ! "), name: name)
        source = try pipeline.appSource("in")
        try source.setCaps(caps)
        let events = pipeline.events
        watcher = Task {
            for await case .error(let failure) in events {
                output.failed(track, failure.message)
                return
            }
        }
        let colour = decoding?.parameters.colour ?? .unsignalled
        try pipeline.appSink("out") { sample in
            guard let time = sample.pts.map(Self.programTime) else { return }
            switch track {
            case .video:
                guard let frame = sample.videoFrame() else { return }
                output.picture(time, SourcePicture(frame: frame, colour: colour))
            case .audio:
                let samples = sample.withBytes { bytes in Array(bytes.bindMemory(to: Float.self)) }
                output.sound(time, samples)
            }
        }
    }

    func start() async throws(GStreamerError) { try await pipeline.play() }

    func tearDown() async {
        await pipeline.tearDown()
        await watcher.value
    }

    /// Queues a frame. Never waits.
    /// - Returns: `false` if the frame was left out, because no group of pictures has begun or too much waits.
    @discardableResult
    func push(_ frame: EncodedFrame) -> Bool {
        let isFull = source.queuedBytes > Self.mostWaiting
        let isWanted = needsIDR.withLock { needsIDR in
            guard frame.track == .video else { return !isFull }
            needsIDR = isFull || (needsIDR && !frame.isIDR)
            return !needsIDR
        }
        guard isWanted else { return false }
        let flow = source.push(
            bytes: frame.payload, pts: Self.pipelineTime(frame.pts), dts: Self.pipelineTime(frame.dts),
            isDelta: frame.track == .video && !frame.isIDR)
        return flow == .ok
    }

    // Program time may be negative (a GOP cached before the task began); pipeline time may not.
    private static let shift: Int64 = 3_600_000_000_000
    private static func pipelineTime(_ time: MediaTime) -> UInt64 {
        UInt64(max(0, time.nanoseconds.saturatingSum(shift)))
    }
    private static func programTime(_ time: UInt64) -> MediaTime {
        MediaTime(nanoseconds: Int64(clamping: time) - shift)
    }
}
