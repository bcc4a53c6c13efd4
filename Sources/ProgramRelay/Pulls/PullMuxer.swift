import EncodedMedia
import GStreamerKit
import MediaFormats
import Synchronization

/// Writes the output of a worker's pipeline as FLV, the format that relays read (docs/adr/0036).
///
/// Called from the threads of several sinks. A writer that waits throttles them, and thereby the sender.
final class PullMuxer: Sendable {
    private struct State {
        var configurations: [Track: [UInt8]] = [:]
        var times = PictureTimes()
        var transcoded: Set<Track> = []
        /// Offset added to the pipeline's times, so that those of the next pipeline continue.
        var offset: MediaTime
        /// Pipeline time at the beginning of its round; `nil` before its first frame.
        var origin: MediaTime? = .zero
        /// Latest written decoding time.
        var latest = MediaTime.zero
        var last: [Track: MediaTime] = [:]
        var lastMedia: Int64?
        var active: Set<PullTail.Sink> = []
        var ended: Set<PullTail.Sink> = []
        var isOver = false
    }

    /// Largest step back that counts as a correction of the sender's clock instead of a new timeline.
    private static let correction = MediaTime.milliseconds(500)

    /// Time by which the encoder's audio frames precede the samples to which they decode: one frame of priming.
    private static let runUp = MediaTime.units(1024, rate: 48_000)

    private let state: Mutex<State>
    private let write: @Sendable ([UInt8]) -> Void

    /// - Parameter offset: Offset added to the pipeline's times.
    init(offset: MediaTime = .seconds(10), _ write: @escaping @Sendable ([UInt8]) -> Void) {
        state = Mutex(State(offset: offset))
        self.write = write
        write(FLVTag.fileHeader)
    }

    /// Arrival of the last frame in ns of CLOCK_MONOTONIC; `nil` before the first one.
    var lastMedia: Int64? { state.withLock { $0.lastMedia } }

    /// Whether every sink that has delivered something has ended.
    var hasEnded: Bool { state.withLock { !$0.active.isEmpty && $0.ended.isSuperset(of: $0.active) } }

    /// Prepares for the next pipeline, whose times begin anywhere and continue by the time since the last frame.
    func beginRound() {
        state.withLock { state in
            state.origin = nil
            (state.active, state.ended, state.times) = ([], [], PictureTimes())
        }
    }

    /// - Parameters:
    ///   - shift: Offset that puts the sample onto the timeline of the other track; `nil` if it already is. With an offset,
    ///     samples earlier than the written ones are dropped.
    ///   - hasDecodingTimes: Whether the sample's decoding time is the encoder's; of RTP it is the arrival.
    func take(
        _ sample: borrowing Sample, from sink: PullTail.Sink, shift: MediaTime? = nil, hasDecodingTimes: Bool = true
    ) {
        let isAligned = shift != nil
        let own = (shift ?? .zero).nanoseconds
        guard let running = sample.runningTime.map({ $0.saturatingSum(own) }) else { return }
        let data = sample.codecData
        let decoding = hasDecodingTimes ? sample.decodingRunningTime.map { $0.saturatingSum(own) } : nil
        let isKey = !sample.isDelta
        let payload = sample.bytes
        guard !payload.isEmpty else { return }
        let track = sink.track
        let codec: VideoCodec = sink == .h265 ? .h265 : .h264
        state.withLock { state in
            guard !state.isOver else { return }
            state.active.insert(sink)
            let now = MonotonicClock.now()
            let origin = state.origin ?? MediaTime(nanoseconds: decoding ?? running)
            if state.origin == nil, let last = state.lastMedia {
                state.offset = state.latest + max(.milliseconds(20), MediaTime(nanoseconds: now - last))
            }
            state.origin = origin
            state.lastMedia = now
            let shift = state.offset - origin
            var pts = MediaTime(nanoseconds: running) + shift
            if sink == .madeAudio { pts -= Self.runUp }
            let configuration: CodecConfiguration? = data.flatMap { bytes in
                guard state.configurations[track] != bytes else { return nil }
                return track == .audio
                    ? CodecConfiguration(track: .audio, bytes: bytes) : CodecConfiguration(codec, bytes: bytes)
            }
            if track == .video, let configuration { state.times.begin(configuration) }
            var dts: MediaTime
            switch (track, decoding) {
            case (.audio, _): dts = pts
            case (.video, let decoding?): dts = min(MediaTime(nanoseconds: decoding) + shift, pts)
            case (.video, nil): (pts, dts) = state.times.next(pts: pts)
            }
            // The MPEG-TS demuxer follows the sender's clock in steps, including backward steps of a few milliseconds.
            if let last = state.last[track], last >= dts, last - dts < Self.correction {
                dts = last + .milliseconds(1)
                pts = max(pts, dts)
            }
            guard dts >= .zero, !isAligned || dts > state.last[track] ?? .zero else { return }
            state.last[track] = dts
            state.latest = max(state.latest, dts)
            var bytes: [UInt8] = []
            if sink == .madeVideo || sink == .madeAudio, state.transcoded.insert(track).inserted {
                bytes += FLVCue(name: PullCue.transcoded, text: track == .video ? "video" : "audio").tag(at: 0).encoded
            }
            if let configuration {
                state.configurations[track] = data
                bytes += FLVTag(configuration, at: dts, origin: .zero).encoded
            }
            // Frames without a configuration cannot be decoded.
            guard state.configurations[track] != nil else { return }
            let frame = EncodedFrame(track: track, pts: pts, dts: dts, isIDR: isKey, payload: payload)
            bytes += FLVTag(frame, videoCodec: codec, origin: .zero).encoded
            write(bytes)
        }
    }

    func ended(_ sink: PullTail.Sink) { state.withLock { _ = $0.ended.insert(sink) } }

    /// Writes the end. Nothing is written after it.
    func end(_ end: PullEnd) {
        state.withLock { state in
            guard !state.isOver else { return }
            state.isOver = true
            write(FLVCue(name: PullCue.end, text: PullCue.text(of: end)).tag(at: 0).encoded)
        }
    }
}
