import EncodedMedia
import GStreamerKit
import LayoutEngine
import MixModel
import ProgramSplicer

/// State shared by the mixer's threads: the wanted scenes and audio, the decoders' output, and the next frame.
///
/// Decides when a frame can be made, but makes none itself and reads no clock. All times are program time.
struct MixState: Sendable {
    /// Times for which the mix waits.
    enum Patience {
        /// Wait for late sources, after the time of a frame of the mix.
        static let normal = MediaTime.milliseconds(120)
        /// Wait, after the time of a frame, for pictures that are already in the decoder and sure to arrive. The
        /// processor is busy then, and a late frame is less visible than a missing one.
        static let decoding = MediaTime.milliseconds(400)
        /// Wait for a guest whose picture was missing in `mostMissed` frames in a row, so that it no longer delays the
        /// others. Once the guest is in time again, the mix waits for it as before.
        static let brief = MediaTime.milliseconds(30)
        static let mostMissed = 10
        /// Upper limit of the wait for audio, which grows from `normal` when audio is late.
        static let mostForSound = MediaTime.milliseconds(400)
        /// Silence after which the mix no longer waits for a source.
        static let silence = MediaTime.milliseconds(500)
        /// Wait at the start, from the first scene, for decoders that work through an old GOP.
        static let start = MediaTime.milliseconds(400)
        /// Wait at the start for sources of the scene from which no frame has arrived.
        static let firstFrame = MediaTime.milliseconds(100)
        /// Longest wait of a new scene for its graphics and for new sources that work through an old GOP.
        static let scene = MediaTime.milliseconds(250)
        /// Time without a picture after which a source is unlikely to have one for the new scene, so that its card is
        /// drawn.
        static let card = MediaTime.milliseconds(100)
        /// Time at the start for which a source that is still connecting gets no card. The mix is usually not on air
        /// yet, and drawing the first card takes processor time from the decoders.
        static let firstCard = MediaTime.milliseconds(1000)
        /// Time without output after which the decoder of a stalled source is drained.
        static let drained = MediaTime.milliseconds(20)
        /// Time without output after which a decoder that is being fed is abandoned.
        static let decoder = MediaTime.milliseconds(3000)
        /// Lateness beyond which frames of the mix are skipped.
        static let hopeless = MediaTime.milliseconds(2000)
        /// Time for which a source that no scene shows is still decoded, so that a scene that returns to it need not
        /// wait.
        static let unseen = MediaTime.milliseconds(5000)
        /// Longest time before its own at which a frame may be rendered, even if every source is ahead.
        static let early = MediaTime.milliseconds(250)
    }

    enum Step<Job: Sendable>: Sendable {
        case make(Job)
        /// No frame can be made before this time unless media arrives; `nil` means without limit.
        case wait(until: MediaTime?)
    }

    struct WantedScene {
        var scene: Scene
        var since: MediaTime
    }

    let setup: MixerSetup
    var sources: [SourceID: MixSource] = [:]
    /// The scene on the canvas; `nil` before the first one.
    var player: ScenePlayer?
    /// The newest scene while it waits for its sources and graphics.
    var wanted: WantedScene?
    /// Time at which the first scene arrived.
    var started: MediaTime?
    var shelf = GraphicShelf()
    /// Graphics of each source's pane in the newest frame. `drawnBefore`: in the last frame before the scene changed.
    var drawn: [String: PaneGraphics] = [:]
    var drawnBefore: [String: PaneGraphics] = [:]
    var voices: LoudestVoices
    /// The participants whose panes are marked because they speak.
    var speakers: SpeakingVoices
    var meter: VolumeMeter

    var nextTick: Int64 = 0
    var nextSound: Int64 = 0
    var idrTicks: Set<Int64> = []
    private static let mostIDRTicks = 64
    /// Renders every n-th canvas frame.
    var frameDivisor = 1
    var lastDrawnTick: Int64?
    /// Latest time for which pictures may be made; `nil` means no limit.
    var picturesUntil: MediaTime?
    /// Delay with which each source is shown, as last reported.
    var reportedDelays: [SourceID: MediaTime] = [:]
    var videoGrid = GridFollower.video
    var soundGrid = GridFollower.sound
    var soundPatience = Patience.normal
    /// The conditions for which the next video frame waits, as last determined; below, those of the next audio frame.
    var awaitedPicture: AwaitedFrame?
    var awaitedSound: AwaitedFrame?
    /// The conditions that wake the tick thread; `nil` while it is working and will check again.
    var vigil: Vigil?

    init(setup: MixerSetup) {
        self.setup = setup
        voices = LoudestVoices(frame: .units(Int64(AudioEncoder.samplesPerFrame), rate: setup.sampleRate))
        speakers = SpeakingVoices(frame: .units(Int64(AudioEncoder.samplesPerFrame), rate: setup.sampleRate))
        meter = VolumeMeter(frame: .units(Int64(AudioEncoder.samplesPerFrame), rate: setup.sampleRate))
    }

    /// Returns the delays with which sources are shown, if they differ from the last reported ones.
    ///
    /// A delay differs by an eighth of a frame interval or more; half an interval tells one frame from the next.
    mutating func newDelays() -> [SourceID: MediaTime]? {
        let delays = sources.compactMapValues(\.sampler.delay)
        let isReported = delays.allSatisfy { id, delay in
            reportedDelays[id].map { (delay - $0).magnitude < interval / 8 } ?? false
        }
        guard !isReported || delays.count != reportedDelays.count else { return nil }
        reportedDelays = delays
        return delays
    }

    var interval: MediaTime { .units(1, rate: setup.canvas.fps) }

    /// Returns the program time of a frame of the canvas.
    func time(ofTick tick: Int64) -> MediaTime {
        setup.videoOrigin + videoGrid.offset + .units(tick, rate: setup.canvas.fps)
    }

    mutating func requestIDR(at time: MediaTime) {
        let sinceOrigin = time - setup.videoOrigin - videoGrid.offset - interval / 2
        var tick = max(0, sinceOrigin.units(rate: setup.canvas.fps) - 1)
        while self.time(ofTick: tick) < time - interval / 2 { tick += 1 }
        idrTicks.insert(max(tick, nextTick))
        // Drops the furthest request, because requests for times that are never reached would accumulate.
        if idrTicks.count > Self.mostIDRTicks, let furthest = idrTicks.max() { idrTicks.remove(furthest) }
    }

    /// Begins a source's stream, possibly after an earlier one that has ended.
    mutating func begin(_ id: SourceID) {
        let old = sources[id]
        guard old == nil || old?.hasEnded == true else { return }
        sources[id] = MixSource(
            sampler: FrameSampler(
                interval: interval, firstTick: time(ofTick: nextTick), isHost: id == setup.host),
            sound: PCMTimeline(
                sampleRate: setup.sampleRate, channels: setup.channels, isHost: id == setup.host,
                start: nextSound * Int64(AudioEncoder.samplesPerFrame), edge: Self.soundEdge))
        // The last picture stays until there is a new one.
        sources[id]?.lastShown = old?.lastShown
        sources[id]?.isStalled = old?.isStalled ?? false
    }

    /// Begins a source's track with another decoder. Pictures in the previous one will not be delivered.
    mutating func beginDecoding(_ track: Track, of id: SourceID) {
        begin(id)
        if track == .video { sources[id]?.decoding = DecoderBacklog() }
    }

    /// Records that a frame of the source, with this timestamp, goes to its decoder.
    mutating func noteFed(_ track: Track, at time: MediaTime, of id: SourceID, now: MediaTime) {
        sources[id]?.stalled.remove(track)
        switch track {
        case .video:
            if sources[id]?.fedVideo == nil { sources[id]?.fedVideo = now }
            sources[id]?.decoding.noteFed(time)
        case .audio: if sources[id]?.fedSound == nil { sources[id]?.fedSound = now }
        }
    }

    /// Records that no media of a track is arriving.
    mutating func noteStalled(_ track: Track, of id: SourceID) { sources[id]?.stalled.insert(track) }

    /// Returns whether a track's decoder has been fed for longer than `Patience.decoder` and has never delivered.
    func isDumb(_ track: Track, of id: SourceID, now: MediaTime) -> Bool {
        guard let source = sources[id] else { return false }
        let (fed, last) =
            track == .video ? (source.fedVideo, source.lastPicture) : (source.fedSound, source.lastSound)
        guard let fed, last == nil else { return false }
        return now - fed > Patience.decoder
    }

    /// Stops waiting for a track that cannot be decoded. Its last picture stays.
    mutating func giveUp(_ track: Track, of id: SourceID) {
        switch track {
        case .video: sources[id]?.fedVideo = nil
        case .audio: sources[id]?.fedSound = nil
        }
    }
}

/// A source inside a mix.
struct MixSource {
    var sampler: FrameSampler
    /// Decoded pictures that may still be shown, by timestamp.
    var pictures: [MediaTime: SourcePicture] = [:]
    var sound: PCMTimeline
    /// Delay of the audio against its timestamps. Equals the delay of the pictures, so that lip sync is kept. A splice
    /// to this source's bypass moves it by the same amount.
    private(set) var soundDelay = MediaTime.zero
    /// Current gain, 0…4; `nil` before the first frame of the mix that could have contained the source.
    var gain: Float?
    /// Whether the scene lets the source be heard.
    var isAudible = false
    /// Pictures in the video decoder.
    var decoding = DecoderBacklog()
    /// Time at which the first video frame arrived from the relay. `fedSound`: the first audio frame.
    var fedVideo: MediaTime?
    var fedSound: MediaTime?
    /// Time of the last decoded picture. `lastSound`: of the last decoded audio.
    var lastPicture: MediaTime?
    var lastSound: MediaTime?
    /// Tracks of which no media is arriving.
    var stalled: Set<Track> = []
    var hasEnded = false
    /// Time of the last frame of the canvas that showed the source's own pictures.
    var lastSeen: MediaTime?
    /// Whether the fallback is shown until the source delivers again.
    var isStalled = false
    /// Number of consecutive frames that were made without the awaited picture.
    var missed = 0
    /// The last picture shown while the source was live.
    var lastShown: SourcePicture?

    /// Sets the delay of the audio to that of the pictures, as long as the source is not heard.
    mutating func alignSound() {
        guard let phase = sampler.phase, !sampler.isHost, !isAudible, gain ?? 0 == 0 else { return }
        guard (soundDelay + phase).magnitude > .milliseconds(1) else { return }
        soundDelay = -phase
        sound.restart()
    }
}
