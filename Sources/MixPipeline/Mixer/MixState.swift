import GStreamerKit
import LayoutEngine
import MixModel
import ProgramSplicer

/// Everything that the mixer's threads share: what is to be drawn and heard, what the decoders have delivered, and
/// which frame is next. Decides when a frame can be made; makes none itself and reads no clock.
///
/// All times are program time.
struct MixState: Sendable {
    /// How long frames are waited for.
    enum Patience {
        /// After the time of a frame of the mix, for sources that are late.
        static let normal = MediaTime.milliseconds(120)
        /// The same for pictures that the decoder has been given: they are sure to come. The processor is busy, and a
        /// frame that comes late is seen less than one that is left out.
        static let decoding = MediaTime.milliseconds(400)
        /// The most that late sound makes of it.
        static let mostForSound = MediaTime.milliseconds(400)
        /// A source that delivered nothing for so long is not waited for.
        static let silence = MediaTime.milliseconds(500)
        /// At the start, from the first scene on: for decoders that work through a GOP of the past.
        static let start = MediaTime.milliseconds(400)
        /// At the start, for sources of the scene that have not been given a frame.
        static let firstFrame = MediaTime.milliseconds(100)
        /// A new scene, for new sources that are working through a GOP of the past and for graphics.
        static let scene = MediaTime.milliseconds(250)
        /// A source that has nothing to show for so long will hardly have it for the new scene: its card is drawn.
        static let card = MediaTime.milliseconds(100)
        /// At the start, for cards of people who are still connecting: mostly nobody sees the mix yet, and drawing the
        /// first card takes the processor from the decoders.
        static let firstCard = MediaTime.milliseconds(1000)
        /// A source without a picture for so long has stalled and gives way to its fallback. Longer than a network's
        /// hiccup, a reconnect of the relay and the key frame after it mostly take: its last frame is better than a card
        /// that flashes up.
        static let stall = MediaTime.milliseconds(3000)
        /// A decoder that is fed for so long without a result is given up.
        static let decoder = MediaTime.milliseconds(3000)
        /// Pictures that are later than this are left out.
        static let hopeless = MediaTime.milliseconds(2000)
        /// Frames are not made earlier than this before their time, though all sources be ahead of it.
        static let early = MediaTime.milliseconds(250)
    }

    enum Step<Job: Sendable>: Sendable {
        case make(Job)
        /// Nothing can be made before this time unless something arrives; `nil`: not at all.
        case wait(until: MediaTime?)
    }

    struct WantedScene {
        var scene: Scene
        var since: MediaTime
    }

    let setup: MixerSetup
    var sources: [SourceID: MixSource] = [:]
    /// What is on the canvas; `nil` before the first scene.
    var player: ScenePlayer?
    /// What was told and waits for its people and its graphics.
    var wanted: WantedScene?
    /// When the first scene arrived.
    var started: MediaTime?
    var shelf = GraphicShelf()
    /// The graphics of each source's pane in the frame made last, and in the one before the scene changed.
    var drawn: [String: PaneGraphics] = [:]
    var drawnBefore: [String: PaneGraphics] = [:]
    var voices: LoudestVoices
    var meter: VolumeMeter

    var nextTick: Int64 = 0
    var nextSound: Int64 = 0
    var idrTicks: Set<Int64> = []
    private static let mostIDRTicks = 64
    /// Of the frames of the canvas only each so manieth is made.
    var frameDivisor = 1
    var lastDrawnTick: Int64?
    /// How much later sources are shown, as it was told last.
    var toldDelays: [SourceID: MediaTime] = [:]
    var videoGrid = GridFollower.video
    var soundGrid = GridFollower.sound
    var soundPatience = Patience.normal

    init(setup: MixerSetup) {
        self.setup = setup
        voices = LoudestVoices(frame: .units(Int64(AudioEncoder.samplesPerFrame), rate: setup.sampleRate))
        meter = VolumeMeter(frame: .units(Int64(AudioEncoder.samplesPerFrame), rate: setup.sampleRate))
    }

    /// How much later sources are shown, where that is not what was told last: by an eighth of an interval at least, of
    /// the half that tells one frame from the next.
    mutating func newDelays() -> [SourceID: MediaTime]? {
        let delays = sources.compactMapValues(\.sampler.delay)
        let isTold = delays.allSatisfy { id, delay in
            toldDelays[id].map { (delay - $0).magnitude < interval / 8 } ?? false
        }
        guard !isTold || delays.count != toldDelays.count else { return nil }
        toldDelays = delays
        return delays
    }

    var interval: MediaTime { .units(1, rate: setup.canvas.fps) }

    /// Program time of a frame of the canvas.
    func time(ofTick tick: Int64) -> MediaTime {
        setup.videoOrigin + videoGrid.offset + .units(tick, rate: setup.canvas.fps)
    }

    mutating func requestIDR(at time: MediaTime) {
        let sinceOrigin = time - setup.videoOrigin - videoGrid.offset - interval / 2
        var tick = max(0, sinceOrigin.units(rate: setup.canvas.fps) - 1)
        while self.time(ofTick: tick) < time - interval / 2 { tick += 1 }
        idrTicks.insert(max(tick, nextTick))
        // Those of times that are not to come are left.
        if idrTicks.count > Self.mostIDRTicks, let furthest = idrTicks.max() { idrTicks.remove(furthest) }
    }

    /// The source has a stream to come, perhaps after another that is over.
    mutating func begin(_ id: SourceID) {
        let old = sources[id]
        guard old == nil || old?.hasEnded == true else { return }
        sources[id] = MixSource(
            sampler: FrameSampler(
                interval: interval, firstTick: time(ofTick: nextTick), isHost: id == setup.host),
            sound: PCMTimeline(
                sampleRate: setup.sampleRate, channels: setup.channels, isHost: id == setup.host,
                start: nextSound * Int64(AudioEncoder.samplesPerFrame)))
        // What it showed stays until there is something new.
        sources[id]?.lastShown = old?.lastShown
        sources[id]?.isStalled = old?.isStalled ?? false
    }

    /// A frame of the source, with this timestamp, goes to its decoder.
    mutating func noteFed(_ track: Track, at time: MediaTime, of id: SourceID, now: MediaTime) {
        switch track {
        case .video:
            if sources[id]?.fedVideo == nil { sources[id]?.fedVideo = now }
            sources[id]?.decoding.noteFed(time)
        case .audio: if sources[id]?.fedSound == nil { sources[id]?.fedSound = now }
        }
    }

    /// True if a track's decoder is fed and has never delivered.
    func isDumb(_ track: Track, of id: SourceID, now: MediaTime) -> Bool {
        guard let source = sources[id] else { return false }
        let (fed, last) =
            track == .video ? (source.fedVideo, source.lastPicture) : (source.fedSound, source.lastSound)
        guard let fed, last == nil else { return false }
        return now - fed > Patience.decoder
    }

    /// A track cannot be decoded: it is no longer waited for. What it showed stays.
    mutating func giveUp(_ track: Track, of id: SourceID) {
        switch track {
        case .video: sources[id]?.fedVideo = nil
        case .audio: sources[id]?.fedSound = nil
        }
    }
}

/// One source inside a mix.
struct MixSource {
    var sampler: FrameSampler
    /// Decoded pictures that may still be shown, by timestamp.
    var pictures: [MediaTime: SourcePicture] = [:]
    var sound: PCMTimeline
    /// How much later than its timestamps the sound is heard: as much as the pictures are shown later, so that lips
    /// and sound stay together. A splice to this source's bypass moves it by the same amount.
    private(set) var soundDelay = MediaTime.zero
    /// Loudness that was last reached, 0…4; `nil` before the first frame of the mix that could have contained it.
    var gain: Float?
    /// The scene lets it be heard.
    var isAudible = false
    /// What its video decoder works on.
    var decoding = DecoderBacklog()
    /// When the first frame of a track came from the relay.
    var fedVideo: MediaTime?
    var fedSound: MediaTime?
    /// When a decoder delivered last.
    var lastPicture: MediaTime?
    var lastSound: MediaTime?
    var hasEnded = false
    /// Its fallback is shown until it delivers again.
    var isStalled = false
    /// The last picture that was shown of it, while it was live.
    var lastShown: SourcePicture?

    /// Follows the phase of the pictures as long as nobody hears the source.
    mutating func alignSound() {
        guard let phase = sampler.phase, !sampler.isHost, !isAudible, gain ?? 0 == 0 else { return }
        guard (soundDelay + phase).magnitude > .milliseconds(1) else { return }
        soundDelay = -phase
        sound.restart()
    }
}
