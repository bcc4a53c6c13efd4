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
        /// The most that late sound makes of it.
        static let mostForSound = MediaTime.milliseconds(400)
        /// A source that delivered nothing for so long is not waited for.
        static let silence = MediaTime.milliseconds(500)
        /// At the start, from the first scene on: for decoders that work through a GOP of the past.
        static let start = MediaTime.milliseconds(400)
        /// At the start, for sources of the scene that have not been given a frame.
        static let firstFrame = MediaTime.milliseconds(100)
        /// A new scene, for new sources that are working through a GOP of the past.
        static let scene = MediaTime.milliseconds(250)
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
        var audible: Set<SourceID>
        var since: MediaTime
    }

    let setup: MixerSetup
    var sources: [SourceID: MixSource] = [:]
    private(set) var scene: WantedScene?
    private(set) var wanted: WantedScene?
    /// When the first scene arrived.
    private(set) var started: MediaTime?

    var nextTick: Int64 = 0
    var nextSound: Int64 = 0
    var idrTicks: Set<Int64> = []
    var videoGrid = GridFollower(deadband: .milliseconds(1), step: .milliseconds(1))
    var soundGrid = GridFollower(deadband: .milliseconds(1), step: MediaTime(nanoseconds: 200_000))
    var soundPatience = Patience.normal

    init(setup: MixerSetup) { self.setup = setup }

    var interval: MediaTime { .units(1, rate: setup.canvas.fps) }

    /// Program time of a frame of the canvas.
    func time(ofTick tick: Int64) -> MediaTime {
        setup.videoOrigin + videoGrid.offset + .units(tick, rate: setup.canvas.fps)
    }

    mutating func show(_ scene: Scene, audible: [SourceID], at now: MediaTime) {
        let new = WantedScene(scene: scene, audible: Set(audible), since: now)
        if started == nil {
            started = now
            self.scene = new
        } else {
            // Not restarting the wait keeps a burst of scenes from holding back the first.
            wanted = WantedScene(scene: scene, audible: Set(audible), since: wanted?.since ?? now)
        }
    }

    mutating func requestIDR(at time: MediaTime) {
        let sinceOrigin = time - setup.videoOrigin - videoGrid.offset - interval / 2
        var tick = max(0, sinceOrigin.units(rate: setup.canvas.fps) - 1)
        while self.time(ofTick: tick) < time - interval / 2 { tick += 1 }
        idrTicks.insert(max(tick, nextTick))
    }

    /// The source as it is, or as it begins.
    func source(_ id: SourceID) -> MixSource {
        sources[id]
            ?? MixSource(
                sampler: FrameSampler(
                    interval: interval, firstTick: time(ofTick: nextTick), isHost: id == setup.host),
                sound: PCMTimeline(
                    sampleRate: setup.sampleRate, channels: setup.channels, isHost: id == setup.host,
                    start: nextSound * Int64(AudioEncoder.samplesPerFrame)))
    }

    /// A frame of the source goes to its decoder.
    mutating func noteFed(_ track: Track, of id: SourceID, now: MediaTime) {
        switch track {
        case .video: if sources[id]?.fedVideo == nil { sources[id]?.fedVideo = now }
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

    /// The source is over. What it showed stays until the next scene, if it is shown at all.
    mutating func end(_ id: SourceID) {
        let isShown = [scene, wanted].contains { $0?.scene.panes.contains { $0.source == id.rawValue } ?? false }
        if isShown { sources[id]?.hasEnded = true } else { sources[id] = nil }
    }

    /// Replaces the scene by the one wanted as soon as everybody new in it has a picture for this tick.
    mutating func applyWantedScene(tick: MediaTime, now: MediaTime) {
        guard let wanted else { return }
        let shown = Set(scene?.scene.panes.map(\.source) ?? [])
        let isReady = wanted.scene.panes.allSatisfy { pane in
            guard !shown.contains(pane.source), let source = sources[SourceID(pane.source)], source.fedVideo != nil,
                !source.hasEnded
            else { return true }
            switch source.sampler.choice(tick: tick) {
            case .frame: return true
            case .pending(let newest): return newest.map { $0 > tick - Patience.normal - interval } ?? false
            }
        }
        guard isReady || now - wanted.since >= Patience.scene else { return }
        scene = wanted
        self.wanted = nil
        let named = Set(wanted.scene.panes.map { SourceID($0.source) }).union(wanted.audible)
        sources = sources.filter { !$0.value.hasEnded || named.contains($0.key) }
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
    /// Loudness that was last reached, 0…1; `nil` before the first frame of the mix that could have contained it.
    var gain: Float?
    /// When the first frame of a track came from the relay.
    var fedVideo: MediaTime?
    var fedSound: MediaTime?
    /// When a decoder delivered last.
    var lastPicture: MediaTime?
    var lastSound: MediaTime?
    var hasEnded = false

    /// Follows the phase of the pictures as long as nobody hears the source.
    mutating func alignSound() {
        guard let phase = sampler.phase, !sampler.isHost, gain ?? 0 == 0 else { return }
        guard (soundDelay + phase).magnitude > .milliseconds(1) else { return }
        soundDelay = -phase
        sound.restart()
    }
}
