import Dispatch
import EncodedMedia
import GStreamerKit
import MediaFormats
import Synchronization
import TextFormats

/// Transcodes the audio of a stream to Opus: 48 kHz, two channels, packets of 20 ms without a gap (RFC 7587).
///
/// AAC is decoded and encoded once, regardless of the number of receivers. A configuration change within the stream
/// creates a new decoder; the encoder continues. Jumping times restart the packets; a shorter gap is filled with
/// silence.
///
/// Usable from any thread; works on its own queue. The owner must tear it down.
package final class OpusTranscoder: Sendable {
    /// An Opus packet.
    package struct Packet: Hashable, Sendable {
        /// Time of its first sample, on the stream's timeline.
        package var time: MediaTime
        package var bytes: [UInt8]
    }

    /// Length of a packet.
    package static let duration = MediaTime.milliseconds(20)
    /// The elements that transcoding needs, with their Debian packages.
    package static let elements: [(name: String, package: String)] = [
        ("avdec_aac", "gstreamer1.0-libav"), ("audioconvert", "gstreamer1.0-plugins-base"),
        ("audioresample", "gstreamer1.0-plugins-base"), ("audiorate", "gstreamer1.0-plugins-base"),
        ("opusenc", "gstreamer1.0-plugins-base"),
    ]

    /// Bit rate in bit/s.
    private static let bitRate = 128_000
    /// Longest gap that is filled, and largest step back that is waited out.
    private static let longestGap = MediaTime.seconds(1)
    /// Largest number of waiting frames; further ones are dropped.
    private static let mostWaiting = 256

    private let queue = DispatchQueue(label: "opus")
    private let state: Mutex<State>
    private let waiting = Atomic<Int>(0)
    private let onPacket: @Sendable (Packet) -> Void

    private struct State {
        var configuration: CodecConfiguration?
        var format: AudioSpecificConfig?
        var clock = AudioSampleClock(sampleRate: 48_000)
        var decoder: DirectPipeline?
        var encoder: DirectPipeline?
        /// Stream time of the chains' time 0.
        var origin = MediaTime.zero
        /// Time of the last frame.
        var last: MediaTime?
        var isOver = false
        var failure: String?
    }

    /// - Parameter onPacket: Called on the transcoder's queue, one packet after another; must return soon.
    package init(onPacket: @escaping @Sendable (Packet) -> Void) {
        self.onPacket = onPacket
        state = Mutex(State())
    }

    /// The reason why no audio can be produced at present, if any.
    package var failure: String? { state.withLock { $0.failure } }

    /// Accepts an item of the stream from `FLVReader`; items other than audio are ignored. Returns at once.
    package func take(_ item: MediaItem) {
        switch item {
        case .discontinuity: break
        default: guard item.track == .audio else { return }
        }
        guard waiting.load(ordering: .relaxed) < Self.mostWaiting || !item.isFrame else { return }
        waiting.add(1, ordering: .relaxed)
        queue.async { [self] in
            defer { waiting.subtract(1, ordering: .relaxed) }
            state.withLock { state in
                guard !state.isOver else { return }
                switch item {
                case .configuration(let configuration): configure(configuration, &state)
                case .frame(let frame): decode(frame, &state)
                case .discontinuity: state.last = nil
                case .metadata: break
                }
            }
        }
    }

    /// Ends the transcoder. Waits for the frame that is being encoded; no packet follows. Must not be called from
    /// `onPacket`.
    package func tearDown() {
        let chains = state.withLock { state in
            state.isOver = true
            defer { (state.decoder, state.encoder) = (nil, nil) }
            return [state.decoder, state.encoder]
        }
        for chain in chains { chain?.tearDown() }
        queue.sync {}
    }

    /// Waits for the items accepted so far. Blocks.
    func finishWaiting() { queue.sync {} }

    // MARK: - On the queue

    private func configure(_ configuration: CodecConfiguration, _ state: inout State) {
        guard configuration != state.configuration else { return }
        state.configuration = configuration
        state.decoder?.tearDown()
        state.decoder = nil
        state.format = AudioSpecificConfig(configuration.bytes)
        state.failure = nil
        guard let format = state.format, format.channels > 0 else {
            state.failure = "the audio configuration is not AAC: \(Hexadecimal.text(configuration.bytes))"
            return
        }
        state.clock = AudioSampleClock(sampleRate: format.sampleRate, samplesPerFrame: format.samplesPerFrame)
    }

    private func decode(_ frame: EncodedFrame, _ state: inout State) {
        guard let configuration = state.configuration, let format = state.format, state.failure == nil else { return }
        let time = state.clock.next(rounded: frame.pts)
        if state.last.map({ time - $0 > Self.longestGap || $0 - time > Self.longestGap }) ?? true {
            state.encoder?.tearDown()
            state.encoder = nil
            state.decoder?.tearDown()
            state.decoder = nil
            state.origin = time
        }
        state.last = time
        do throws(GStreamerError) {
            if state.encoder == nil { state.encoder = try makeEncoder(origin: state.origin) }
            if state.decoder == nil, let encoder = state.encoder {
                state.decoder = try Self.makeDecoder(configuration, format, into: encoder)
            }
        } catch {
            state.failure = "the sound cannot be transcoded: \(error)"
            return
        }
        let place = time - state.origin
        guard place >= .zero else { return }
        frame.payload.withUnsafeBytes { bytes in
            _ = state.decoder?.push(
                bytes: bytes, pts: UInt64(place.nanoseconds), duration: UInt64(state.clock.frameDuration.nanoseconds))
        }
    }

    private static let samples = "audio/x-raw,format=S16LE,layout=interleaved,rate=48000,channels=2"

    private static func makeDecoder(
        _ configuration: CodecConfiguration, _ format: AudioSpecificConfig, into encoder: DirectPipeline
    ) throws(GStreamerError) -> DirectPipeline {
        let caps =
            "audio/mpeg,mpegversion=4,framed=true,stream-format=raw,rate=\(format.sampleRate),"
            + "channels=\(format.channels),codec_data=(buffer)\(Hexadecimal.text(configuration.bytes))"
        let chain = try DirectPipeline(
            ["avdec_aac", "audioconvert", "audioresample", samples], caps: .text(caps), name: "opus-decoder"
        ) { sample in
            guard let time = sample.pts else { return }
            sample.withBytes { bytes in _ = encoder.push(bytes: bytes, pts: time, duration: sample.duration) }
        }
        try chain.start()
        return chain
    }

    private func makeEncoder(origin: MediaTime) throws(GStreamerError) -> DirectPipeline {
        let chain = try DirectPipeline(
            ["audiorate skip-to-first=true", "opusenc bitrate=\(Self.bitRate) frame-size=20", "audio/x-opus"],
            caps: .text(Self.samples), name: "opus-encoder"
        ) { [onPacket] sample in
            guard let time = sample.pts, !sample.isHeader else { return }
            // The first packet begins with samples from before the audio (the encoder's delay), and is as long as the
            // others.
            let end =
                MediaTime(nanoseconds: Int64(clamping: time))
                + MediaTime(nanoseconds: Int64(clamping: sample.duration ?? 20_000_000))
            onPacket(Packet(time: origin + end - OpusTranscoder.duration, bytes: sample.bytes))
        }
        try chain.start()
        return chain
    }
}
