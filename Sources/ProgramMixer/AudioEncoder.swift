import EncodedMedia
import GStreamerKit
import MixModel
import Synchronization

/// The mix's AAC-LC encoder. Takes frames of 1024 samples and delivers packets with the time of the samples that they
/// decode to.
///
/// The encoder needs one frame of run-up: packet `j` decodes to frame `j − 1`. The first packet decodes to what
/// precedes the first frame and is dropped.
final class AudioEncoder: Sendable {
    static let samplesPerFrame = 1024
    /// Packets before the one that decodes to the first frame.
    static let primingPackets = 1

    private let pipeline: Pipeline
    private let source: AppSource
    private let sampleRate: Int
    private let pending: Mutex<Pending>

    private struct Pending {
        /// Program times of the frames that were pushed and not yet delivered.
        var times: [MediaTime] = []
        var pushed: Int64 = 0
        var packets = 0
        var configuration: [UInt8]?
    }

    /// Creates an encoder that is not running yet.
    /// - Parameter output: Called on the encoder's thread, with the configuration before the first frame.
    init(
        sampleRate: Int, channels: Int, bitrate: Int, output: @escaping @Sendable (MixerReport) -> Void
    ) throws(GStreamerError) {
        self.sampleRate = sampleRate
        let description = [
            """
            appsrc name=in format=time is-live=true block=false max-bytes=0 \
            caps="audio/x-raw,format=F32LE,layout=interleaved,rate=\(sampleRate),channels=\(channels)"
            """,
            "audioconvert", "avenc_aac bitrate=\(bitrate)", "audio/mpeg,mpegversion=4,stream-format=raw",
            "appsink name=out sync=false async=false",
        ]
        pipeline = try Pipeline(description.joined(separator: " ! "), name: "mixer-audio-encoder")
        source = try pipeline.appSource("in")
        pending = Mutex(Pending())
        try pipeline.appSink("out") { [weak self] sample in self?.deliver(sample, to: output) }
    }

    func start() async throws(GStreamerError) { try await pipeline.play() }
    func tearDown() async { await pipeline.tearDown() }
    /// The pipeline's first error, if any.
    var failure: BusFailure? { pipeline.firstError }

    /// Encodes one frame of 1024 interleaved samples per channel, which is heard from program time `time` on.
    func push(_ samples: [Float], at time: MediaTime) {
        let index = pending.withLock { pending in
            pending.times.append(time)
            pending.pushed += 1
            return pending.pushed - 1
        }
        let bytes = samples.withUnsafeBytes { Array($0) }
        let start = MediaTime.units(index * Int64(Self.samplesPerFrame), rate: sampleRate)
        let end = MediaTime.units((index + 1) * Int64(Self.samplesPerFrame), rate: sampleRate)
        source.push(
            bytes: bytes, pts: UInt64(start.nanoseconds), duration: UInt64((end - start).nanoseconds))
    }

    private func deliver(_ sample: borrowing Sample, to output: @Sendable (MixerReport) -> Void) {
        let codecData = sample.codecData
        let (time, isNew) = pending.withLock { pending -> (MediaTime?, Bool) in
            let isNew = codecData != nil && codecData != pending.configuration
            if isNew { pending.configuration = codecData }
            pending.packets += 1
            guard pending.packets > Self.primingPackets, !pending.times.isEmpty else { return (nil, isNew) }
            return (pending.times.removeFirst(), isNew)
        }
        if isNew, let codecData { output(.configuration(CodecConfiguration(track: .audio, bytes: codecData))) }
        guard let time else { return }
        output(.frame(EncodedFrame(track: .audio, pts: time, dts: time, payload: sample.bytes)))
    }
}
