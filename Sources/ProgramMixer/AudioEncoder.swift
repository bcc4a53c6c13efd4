import EncodedMedia
import GStreamerKit
import MixModel
import Synchronization

/// The mix's AAC-LC encoder. Accepts frames of 1024 samples and delivers packets with the time of the samples to which
/// they decode.
///
/// The encoder needs one frame of priming: packet `j` decodes to frame `j − 1`. It also takes the beginning of its input
/// for an attack, and codes the next packets in short blocks, which do not join the long ones of the feed that viewers
/// heard before: a click of up to −60 dBFS above 7 kHz (docs/adr/0005-viewer-side-probe.md). So a lead-in precedes the
/// first frame: that frame backwards, forwards and backwards, so that neither level nor waveform steps. Packets that
/// decode to the lead-in are dropped; those that follow hold nothing of it.
final class AudioEncoder: Sendable {
    static let samplesPerFrame = 1024
    /// Frames before the first one: odd, so that the last of them is backwards and ends where the first one begins. With
    /// one, the first packet that is heard still has the window after short blocks; with three, the packet before it has
    /// a long one, too.
    static let leadInFrames = 3
    /// Packets before the one that decodes to the first frame.
    static let primingPackets = 1 + leadInFrames

    private let chain: DirectPipeline
    private let sampleRate: Int
    private let channels: Int
    private let desk: Desk

    /// Creates an encoder that is not running yet.
    /// - Parameter output: Called on the thread that pushes, with the configuration before the first frame.
    init(
        sampleRate: Int, channels: Int, bitrate: Int, output: @escaping @Sendable (MixerReport) -> Void
    ) throws(GStreamerError) {
        self.sampleRate = sampleRate
        self.channels = max(channels, 1)
        let desk = Desk(output: output)
        self.desk = desk
        chain = try DirectPipeline(
            [
                "audioconvert", AACEncoder.element(sampleRate: sampleRate, channels: channels, bitrate: bitrate),
                "audio/mpeg,mpegversion=4,stream-format=raw",
            ],
            caps: .text("audio/x-raw,format=F32LE,layout=interleaved,rate=\(sampleRate),channels=\(channels)"),
            name: "mixer-audio-encoder"
        ) { sample in desk.deliver(sample) }
    }

    /// Opens the codec. Blocks until it is open.
    func start() throws(GStreamerError) { try chain.start() }
    func tearDown() { chain.tearDown() }
    /// The encoder's first error, if any.
    var failure: BusFailure? { chain.firstError }

    /// Encodes one frame of 1024 interleaved samples per channel, which starts at program time `time`.
    func push(_ samples: [Float], at time: MediaTime) {
        let index = desk.note(time)
        if index == 0 {
            let reversed = Self.reversed(samples, channels: channels)
            for frame in 0..<Self.leadInFrames {
                encode(frame.isMultiple(of: 2) ? reversed : samples, as: Int64(frame))
            }
        }
        encode(samples, as: index + Int64(Self.leadInFrames))
    }

    /// Encodes a frame as the one with this number in the encoder's input.
    private func encode(_ samples: [Float], as index: Int64) {
        let start = MediaTime.units(index * Int64(Self.samplesPerFrame), rate: sampleRate)
        let end = MediaTime.units((index + 1) * Int64(Self.samplesPerFrame), rate: sampleRate)
        _ = samples.withUnsafeBytes { bytes in
            chain.push(bytes: bytes, pts: UInt64(start.nanoseconds), duration: UInt64((end - start).nanoseconds))
        }
    }

    /// Returns interleaved samples in the opposite order of time.
    static func reversed(_ samples: [Float], channels: Int) -> [Float] {
        var result: [Float] = []
        result.reserveCapacity(samples.count)
        for start in stride(from: samples.count - channels, through: 0, by: -channels) {
            result += samples[start..<start + channels]
        }
        return result
    }
}

/// The frames inside an encoder, and the delivery of their packets.
private final class Desk: Sendable {
    private let output: @Sendable (MixerReport) -> Void
    private let pending = Mutex(Pending())

    private struct Pending {
        /// Program times of the frames that were pushed and have not been delivered yet.
        var times: [MediaTime] = []
        var pushed: Int64 = 0
        var packets = 0
        var configuration: [UInt8]?
    }

    init(output: @escaping @Sendable (MixerReport) -> Void) { self.output = output }

    /// Records that a frame with this time is pushed next.
    /// - Returns: Its number.
    func note(_ time: MediaTime) -> Int64 {
        pending.withLock { pending in
            pending.times.append(time)
            pending.pushed += 1
            return pending.pushed - 1
        }
    }

    func deliver(_ sample: borrowing Sample) {
        let codecData = sample.codecData
        let (time, isNew) = pending.withLock { pending -> (MediaTime?, Bool) in
            let isNew = codecData != nil && codecData != pending.configuration
            if isNew { pending.configuration = codecData }
            pending.packets += 1
            guard pending.packets > AudioEncoder.primingPackets, !pending.times.isEmpty else { return (nil, isNew) }
            return (pending.times.removeFirst(), isNew)
        }
        if isNew, let codecData { output(.configuration(CodecConfiguration(track: .audio, bytes: codecData))) }
        guard let time else { return }
        output(.frame(EncodedFrame(track: .audio, pts: time, dts: time, payload: sample.bytes)))
    }
}
