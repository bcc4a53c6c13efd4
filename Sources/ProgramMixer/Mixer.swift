import Dispatch
import EncodedMedia
import GStreamerKit
import LayoutEngine
import MixModel

/// Decodes sources, composes them by ticks of the program clock, encodes the result, and reports the encoded frames.
///
/// Commands are carried out in order by the threads that give them. Reports are made on the mixer's own threads; those
/// about a failing source also on the thread that gives a command. The reports of one track are in order, with its
/// configuration before its first frame. No source can stop the mix.
public final class Mixer: Sendable {
    private let queue = DispatchQueue(label: "mixer.commands")
    private let worker: MixerCore

    /// - Parameter mediaDirectories: Directories of the files that may be played as idle media.
    public convenience init(
        tuning: EncoderTuning = EncoderTuning(), mediaDirectories: [String] = [],
        reports: @escaping @Sendable (MixerReport) -> Void
    ) {
        self.init(
            tuning: tuning, kinds: VideoEncoderKinds.all, mediaDirectories: mediaDirectories, reports: reports)
    }

    /// - Parameters:
    ///   - kinds: Kinds of encoder from which hardware is chosen.
    ///   - clock: Returns the time in ns by which frames are due. May stand still, but never goes back.
    init(
        tuning: EncoderTuning, kinds: [any VideoEncoderKind.Type], mediaDirectories: [String] = [],
        clock: @escaping @Sendable () -> Int64 = { MonotonicClock.now() },
        reports: @escaping @Sendable (MixerReport) -> Void
    ) {
        worker = MixerCore(
            tuning: tuning, place: MediaPlace(directories: mediaDirectories), clock: clock, report: reports)
        // A mixer often waits for its sources; meanwhile the codecs are loaded and hardware is tried.
        queue.async { [worker] in
            // A missing element is reported by the pipeline that needs it.
            GStreamerRuntime.load(Self.elements)
            worker.findHardware(among: kinds)
        }
    }

    /// Elements that every mixer uses. Loading their libraries takes a third of the time to the first picture.
    public static let elements = ["avdec_h264", "avdec_aac", "audioconvert", "audioresample", "x264enc", "avenc_aac"]

    /// Carries out a command. Safe to call from any thread that may block: a short frame is decoded before this
    /// returns, and the codecs are opened by `start` and by a configuration.
    public func handle(_ command: MixerCommand) {
        queue.sync { [worker] in worker.perform(command) }
    }

    /// Returns the number of pictures that the source's decoder has been given so far; 0 without a decoder.
    func picturesDecoded(of id: SourceID) -> Int { queue.sync { [worker] in worker.picturesDecoded(of: id) } }

    /// Stops and frees everything. No reports follow.
    public func stop() async {
        await withCheckedContinuation { continuation in
            queue.async { [worker] in
                worker.perform(.stop)
                continuation.resume()
            }
        }
    }
}

/// The part of the mixer that runs on its queue.
///
/// `@unchecked Sendable`: every method is called on that queue only.
private final class MixerCore: @unchecked Sendable {
    private struct Running {
        var setup: MixerSetup
        var shared: MixShared
        /// The video encoder; `nil` in an audio-only mix.
        var video: SteadyVideoEncoder?
        var audio: AudioEncoder
        var artist: GraphicArtist
        var player: FilePlayer
        var loop: TickLoop
    }
    private struct DecoderKey: Hashable {
        var source: SourceID
        var track: Track
    }

    private let tuning: EncoderTuning
    private let place: MediaPlace
    private let clock: @Sendable () -> Int64
    private let report: @Sendable (MixerReport) -> Void
    /// Working hardware, among the operator's choice.
    private var hardware: [any VideoEncoderKind.Type] = []
    private var running: Running?
    private var decoders: [DecoderKey: TrackDecoder] = [:]
    private let paces = DecodingPaces()
    private var held = HeldGroups()

    init(
        tuning: EncoderTuning, place: MediaPlace, clock: @escaping @Sendable () -> Int64,
        report: @escaping @Sendable (MixerReport) -> Void
    ) {
        self.tuning = tuning
        self.place = place
        self.clock = clock
        self.report = report
    }

    /// Tries the hardware that programs may use.
    func findHardware(among kinds: [any VideoEncoderKind.Type]) {
        let candidates = VideoEncoderKinds.candidates(for: .h264, preset: nil, choice: tuning.encoder, among: kinds)
        hardware = candidates.filter { kind in
            guard kind.isHardware else { return false }
            let finding = try? waiting { await VideoEncoderProbe.finding(of: kind) }
            return finding == .works
        }
        guard tuning.encoder != .software, hardware.isEmpty else { return }
        report(
            .note(
                code: "encoderUnavailable",
                message: "no hardware encoder works, x264 encodes: `mixworker doctor` says why"))
    }

    func perform(_ command: MixerCommand) {
        if case .start(let setup) = command {
            guard running == nil else { return }
            do {
                running = try start(setup)
            } catch {
                report(.failed(reason: "\(error)"))
            }
            return
        }
        guard let running else { return }
        let shared = running.shared
        switch command {
        case .start: break
        case .scene(let scene):
            reveal(scene, running)
            shared.change { [now = shared.now] in $0.show(scene, at: now) }
        case .sceneChange(let difference):
            if let scene = shared.look({ $0.newestScene }) { reveal(scene.applying(difference), running) }
            shared.change { [now = shared.now] in $0.change(difference, at: now) }
        case .configuration(let source, let configuration):
            configure(source, configuration, running)
        case .frame(let source, let frame):
            decode(frame, of: source, running)
        case .ended(let source):
            end(source, running)
        case .stalled(let source, let track):
            shared.change { $0.noteStalled(track, of: source) }
        case .requestIDR(let time):
            shared.change { $0.requestIDR(at: time) }
        case .frameDivisor(let divisor):
            shared.change { $0.frameDivisor = max(1, divisor) }
        case .pictures(let until):
            shared.change { $0.picturesUntil = until }
        case .reportVolumes(let isOn):
            shared.change { $0.meter.isOn = isOn }
        case .play(let playlist):
            running.player.play(playlist)
        case .stop:
            stop(running)
        }
    }

    func picturesDecoded(of id: SourceID) -> Int { decoders[DecoderKey(source: id, track: .video)]?.pushed ?? 0 }

    private func start(_ setup: MixerSetup) throws -> Running {
        let colour = CanvasColour(signal: setup.colour, canvas: setup.canvas)
        let shared = MixShared(setup: setup, clock: clock)
        let format = CanvasComposer.format(of: setup.canvas, colour: colour)
        let kinds = VideoEncoderKinds.candidates(
            for: setup.videoCodec ?? .h264, preset: setup.preset, choice: tuning.encoder, among: hardware)
        let video =
            setup.hasVideo
            ? SteadyVideoEncoder(
                kinds: kinds, format: format, setup: setup, colour: colour, tuning: tuning, output: report) : nil
        let audio = try AudioEncoder(
            sampleRate: setup.sampleRate, channels: setup.channels, bitrate: setup.audioBitrate, output: report)
        try video?.start()
        try audio.start()
        let artist = GraphicArtist(shared: shared, easel: Easel(canvas: setup.canvas, colour: colour), report: report)
        let loop = TickLoop(shared: shared, video: video, audio: audio, artist: artist, report: report)
        loop.start { try CanvasComposer(canvas: setup.canvas, colour: colour) }
        return Running(
            setup: setup, shared: shared, video: video, audio: audio, artist: artist,
            player: FilePlayer(shared: shared, setup: setup, place: place, report: report), loop: loop)
    }

    private func configure(_ id: SourceID, _ configuration: CodecConfiguration, _ running: Running) {
        let key = DecoderKey(source: id, track: configuration.track)
        guard decoders[key]?.configuration != configuration else { return }
        discard(key)
        let shared = running.shared
        shared.change { $0.beginDecoding(configuration.track, of: id) }
        let output = DecoderOutput(
            picture: { time, picture in
                shared.arrive { [now = shared.now] in $0.add(picture, at: time, of: id, now: now) }
            },
            sound: { time, samples in
                shared.arrive { [now = shared.now] in $0.add(samples, at: time, of: id, now: now) }
            },
            failed: { [report] track, reason in
                shared.change { $0.giveUp(track, of: id) }
                report(.sourceFailed(id, reason: reason))
            })
        do {
            let decoder = try TrackDecoder(
                configuration, name: "mixer-\(id)-\(configuration.track)", sampleRate: running.setup.sampleRate,
                channels: running.setup.channels, paces: paces, output: output)
            try decoder.start()
            decoders[key] = decoder
        } catch {
            output.failed(configuration.track, "\(error)")
        }
    }

    private func decode(_ frame: EncodedFrame, of id: SourceID, _ running: Running) {
        guard let decoder = decoders[DecoderKey(source: id, track: frame.track)] else { return }
        guard frame.track == .video else { return feed(frame, of: id, decoder, running) }
        let shared = running.shared
        let isUnseen = frame.isIDR && shared.look { [now = shared.now] in $0.isUnseen(id, now: now) }
        switch held.take(frame, of: id, isUnseen: isUnseen, pace: decoder.pace) {
        case .held:
            if frame.isIDR { shared.look { $0.hide(id) } }
        case .decode(let frames):
            for frame in frames { feed(frame, of: id, decoder, running) }
        }
    }

    /// Decodes the held pictures of the sources in a scene before the scene is shown, so that it waits for them.
    private func reveal(_ scene: Scene, _ running: Running) {
        for id in held.sources where scene.showsLive(id) {
            guard let decoder = decoders[DecoderKey(source: id, track: .video)] else { continue }
            for frame in held.release(id) { feed(frame, of: id, decoder, running) }
        }
    }

    private func feed(_ frame: EncodedFrame, of id: SourceID, _ decoder: TrackDecoder, _ running: Running) {
        guard decoder.admits(frame) else { return }
        let shared = running.shared
        let isDumb = shared.look { [now = shared.now] state in
            state.noteFed(frame.track, at: frame.pts, of: id, now: now)
            return state.isDumb(frame.track, of: id, now: now)
        }
        guard isDumb else { return decoder.push(frame) }
        discard(DecoderKey(source: id, track: frame.track))
        shared.change { $0.giveUp(frame.track, of: id) }
        report(.sourceFailed(id, reason: "its \(frame.track) cannot be decoded"))
    }

    private func end(_ id: SourceID, _ running: Running) {
        for track in Track.allCases { discard(DecoderKey(source: id, track: track)) }
        running.shared.change { $0.end(id) }
    }

    private func discard(_ key: DecoderKey) {
        if key.track == .video { _ = held.release(key.source) }
        decoders.removeValue(forKey: key)?.tearDown()
    }

    private func stop(_ running: Running) {
        running.player.stop()
        running.loop.stop()
        for key in Array(decoders.keys) { discard(key) }
        try? waiting { await running.artist.stop() }
        running.video?.tearDown()
        running.audio.tearDown()
        self.running = nil
    }
}
