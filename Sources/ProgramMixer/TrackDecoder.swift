import Dispatch
import EncodedMedia
import GStreamerKit
import MediaFormats
import Synchronization
import TextFormats

/// Receivers of the output of a source's decoders, in program time. Called on the decoding threads.
struct DecoderOutput: Sendable {
    var picture: @Sendable (MediaTime, SourcePicture) -> Void
    /// Receives interleaved samples in the mix's rate and channels.
    var sound: @Sendable (MediaTime, [Float]) -> Void
    var failed: @Sendable (Track, String) -> Void
}

/// The decoder of one track of one source, for one codec configuration. A new configuration needs a new decoder.
///
/// Frames are decoded in order, on the pushing thread or on the decoder's own, as `DecodingPlace` chooses. One thread
/// at a time may push.
final class TrackDecoder: Sendable {
    let configuration: CodecConfiguration
    private let chain: DirectPipeline
    private let output: DecoderOutput
    private let video: VideoConfiguration?
    private let paces: DecodingPaces
    private let queue: DispatchQueue
    private let work = Mutex(Work())

    private struct Work {
        /// Whether the next access unit must start a group of pictures.
        var needsIDR = true
        var entry = OpenGroupEntry()
        /// Time of the picture with which the decoder last started.
        var beginning: MediaTime?
        var place = DecodingPlace()
        /// Number of frames that the decoder's own thread has not finished; below, their bytes.
        var waiting = 0
        var waitingBytes = 0
        /// Number of frames pushed so far.
        var pushed = 0
        /// Whether the decoder was asked to end, or has reported a failure.
        var isOver = false
    }

    /// Bytes that may wait for the decoder. Beyond that, on a machine that is too slow, a whole group of pictures is
    /// dropped.
    private static let mostWaiting = 8 << 20

    /// Creates a decoder that is not running yet.
    /// - Parameter paces: The sum over all decoders of a mixer, to which this decoder contributes.
    /// - Throws: `GStreamerError` with code `.syntax`, if the configuration cannot be read.
    init(
        _ configuration: CodecConfiguration, name: String, sampleRate: Int, channels: Int, paces: DecodingPaces,
        output: DecoderOutput
    ) throws(GStreamerError) {
        self.configuration = configuration
        self.paces = paces
        self.output = output
        video = VideoConfiguration(configuration)
        queue = DispatchQueue(label: name)
        switch configuration.track {
        case .video:
            guard let decoding = VideoDecoding(configuration) else {
                throw GStreamerError(
                    .syntax, "the video configuration cannot be read: \(Hexadecimal.text(configuration.bytes))")
            }
            let colour = decoding.parameters.colour
            chain = try DirectPipeline([decoding.element], caps: .text(decoding.caps), name: name) { sample in
                guard let time = sample.pts.map(Self.programTime), let frame = sample.videoFrame() else { return }
                output.picture(time, SourcePicture(frame: frame, colour: colour))
            }
        case .audio:
            guard let audio = AudioSpecificConfig(configuration.bytes), audio.channels > 0 else {
                throw GStreamerError(
                    .syntax, "the audio configuration is not AAC: \(Hexadecimal.text(configuration.bytes))")
            }
            let elements = [
                "avdec_aac", "audioconvert", "audioresample",
                "audio/x-raw,format=F32LE,layout=interleaved,rate=\(sampleRate),channels=\(channels)",
            ]
            let caps =
                "audio/mpeg,mpegversion=4,framed=true,stream-format=raw,rate=\(audio.sampleRate),"
                + "channels=\(audio.channels),codec_data=(buffer)\(Hexadecimal.text(configuration.bytes))"
            chain = try DirectPipeline(elements, caps: .text(caps), name: name) { sample in
                guard let time = sample.pts.map(Self.programTime) else { return }
                output.sound(time, sample.withBytes { bytes in Array(bytes.bindMemory(to: Float.self)) })
            }
        }
    }

    /// Opens the codec. Blocks until it is open.
    func start() throws(GStreamerError) { try chain.start() }

    /// Mean time per frame.
    var pace: MediaTime { work.withLock { $0.place.pace } }

    /// Number of frames pushed so far.
    var pushed: Int { work.withLock { $0.pushed } }

    /// Ends the decoder and waits for the frame that is being decoded. Must not be called from the output.
    func tearDown() {
        work.withLock { $0.isOver = true }
        queue.sync {}
        chain.tearDown()
        paces.change(by: .zero - work.withLock { $0.place.pace })
    }

    /// Returns whether the next frame may be pushed: not if no group of pictures has begun, too much is waiting, or the
    /// decoder has failed. Records the decision, so call it once per frame.
    func admits(_ frame: EncodedFrame) -> Bool {
        work.withLock { work in
            guard !work.isOver else { return false }
            let isFull = work.waitingBytes > Self.mostWaiting
            guard frame.track == .video else { return !isFull }
            let neededIDR = work.needsIDR
            work.needsIDR = isFull || (work.needsIDR && !canBegin(with: frame))
            if neededIDR, !work.needsIDR {
                _ = work.entry.begin(with: frame, of: video)
                work.beginning = frame.pts
            }
            return !work.needsIDR && work.entry.admits(frame)
        }
    }

    private func canBegin(with frame: EncodedFrame) -> Bool {
        frame.isIDR || video.map { frame.beginsOpenGroup(of: $0) } ?? false
    }

    /// Decodes an admitted frame, at once or later.
    func push(_ frame: EncodedFrame) {
        let beginsSequence = beginsSequence(frame)
        let isWithReader = work.withLock { [total = paces.total] work in
            work.pushed += 1
            let isWithReader =
                !beginsSequence && work.place.isWithReader(frame, waiting: work.waiting, total: total)
            if !isWithReader {
                work.waiting += 1
                work.waitingBytes += frame.payload.count
            }
            return isWithReader
        }
        if isWithReader { return decode(frame) }
        queue.async { [self] in
            if !work.withLock({ $0.isOver }) { decode(frame) }
            work.withLock { work in
                work.waiting -= 1
                work.waitingBytes -= frame.payload.count
            }
        }
    }

    private func decode(_ frame: EncodedFrame) {
        let begin = (MonotonicClock.now(), ThreadClock.now())
        let isDelta = frame.track == .video && !frame.isIDR && work.withLock { $0.beginning } != frame.pts
        _ = frame.payload.withUnsafeBytes { bytes in
            chain.push(
                bytes: bytes, pts: Self.pipelineTime(frame.pts), dts: Self.pipelineTime(frame.dts),
                isDelta: isDelta)
        }
        let time = MediaTime(nanoseconds: MonotonicClock.now() - begin.0)
        let processorTime = MediaTime(nanoseconds: ThreadClock.now() - begin.1)
        let failure = chain.firstError
        let (change, isNew) = work.withLock { work in
            let before = work.place.pace
            work.place.noteDecoded(taking: time, processorTime: processorTime)
            defer { if failure != nil { work.isOver = true } }
            return (work.place.pace - before, failure != nil && !work.isOver)
        }
        paces.change(by: change)
        if isNew, let failure { output.failed(configuration.track, failure.message) }
    }

    /// Returns whether the pictures from this frame on may have another size.
    private func beginsSequence(_ frame: EncodedFrame) -> Bool {
        guard let video else { return false }
        return frame.isIDR
            || NALUnits(frame.payload, lengthSize: video.lengthSize).contains {
                NALUnitKind($0, video.codec) == .sequenceParameterSet
            }
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
