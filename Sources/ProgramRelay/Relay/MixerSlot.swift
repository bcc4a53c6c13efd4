import EncodedMedia
import LayoutEngine
import MixModel
import ProgramSplicer

/// One of a program's mixers, and the commands that it has received.
struct MixerSlot {
    let generation: Int
    let process: MixerProcess
    /// The mixer's setup; `nil` while the process is only a spare, with its codecs loaded.
    private(set) var setup: MixerSetup?
    private(set) var scene: Scene?
    /// Program time at which the mixer was told to run. `firstPictureAt`: at which its first picture arrived.
    private(set) var startedAt: MediaTime?
    private(set) var firstPictureAt: MediaTime?
    /// The failure that the mixer reported before it ended, or the reason why it was killed.
    var failure: String?
    /// Renders every n-th canvas frame.
    private(set) var frameDivisor = 1
    private(set) var pace = FramePace()
    private var watchdog = MixerWatchdog()
    /// Volumes of the sources as last reported, 0…255.
    var volumes: [SourceID: Int] = [:]
    private var reportsVolumes = false
    private var encoding: EncodingSettings?
    private var playlist: MixerPlaylist?
    private var sources: Set<SourceID> = []
    /// Tracks for which the mixer was told not to wait.
    private var stalled: [SourceID: Set<Track>] = [:]

    init(generation: Int, process: MixerProcess) {
        self.generation = generation
        self.process = process
    }

    var feed: SpliceInput { .mixer(generation) }
    var isRunning: Bool { setup != nil }
    /// Distance between two pictures, and between two regular keyframes; `nil` before the setup.
    var interval: MediaTime? { setup.map { .units(Int64(frameDivisor), rate: $0.canvas.fps) } }
    var keyframeDistance: MediaTime? { setup.map { .units(Int64($0.keyframeDistance), rate: $0.canvas.fps) } }

    /// - Parameter failures: Number of mixers that have failed in a row before this one.
    mutating func start(_ setup: MixerSetup, encoding: EncodingSettings?, failures: Int = 0, now: MediaTime) {
        startedAt = now
        watchdog = MixerWatchdog(failures: failures)
        self.setup = setup
        self.encoding = encoding
        process.send(.start(setup))
    }

    /// Renders only every n-th canvas frame, starting with the next one.
    mutating func divideFrames(by divisor: Int) {
        guard isRunning, divisor != frameDivisor else { return }
        frameDivisor = divisor
        process.send(.frameDivisor(divisor))
    }

    /// Starts or stops reports of the sources' volumes.
    mutating func reportVolumes(_ isWanted: Bool) {
        guard isRunning, isWanted != reportsVolumes else { return }
        reportsVolumes = isWanted
        volumes = [:]
        process.send(.reportVolumes(isWanted))
    }

    /// Records the arrival of a frame at `now`, in program time.
    mutating func note(_ frame: EncodedFrame, now: MediaTime) {
        if frame.track == .video || setup?.hasVideo == false { watchdog.delivered(at: now) }
        guard frame.track == .video, let setup else { return }
        if firstPictureAt == nil { firstPictureAt = now }
        pace.take(
            pts: frame.pts, now: now, origin: setup.videoOrigin,
            interval: .units(Int64(frameDivisor), rate: setup.canvas.fps))
    }

    /// The CPU time used so far and the pace of the frames; `nil` before the process runs and once it is gone.
    var load: MixerLoad? {
        guard let processID = process.processID else { return nil }
        return ProcessClock.seconds(of: processID).map {
            MixerLoad(processID: processID, cpuSeconds: $0, frameDivisor: frameDivisor, pace: pace)
        }
    }

    /// Number of bytes that may wait for a mixer, in addition to the groups of pictures that were sent at once.
    static let hangLimit = 96 << 20
    private var replays = ReplayAllowance()

    /// Returns the reason why the mixer counts as hung and must be killed; `nil` if it does not.
    mutating func hang(now: MediaTime) -> String? {
        if process.pendingBytes > Self.hangLimit + replays.bytes(at: now) {
            return "accepts no input and is being replaced"
        }
        guard watchdog.isSuspect(at: now) else { return nil }
        let used = process.processID.flatMap { ProcessClock.seconds(of: $0) }
        let expected = setup?.hasVideo == false ? "sound" : "picture"
        let isHung = watchdog.isHung(at: now, cpuSeconds: used, interval: interval ?? .zero)
        return isHung ? "delivers no \(expected) and is being replaced" : nil
    }

    /// Records that the relay itself stood still, and may not have read what the mixer has delivered.
    mutating func excuse(_ standstill: MediaTime, now: MediaTime) { watchdog.excuse(standstill, at: now) }

    /// Shows `scene` from the next frame on. Sends only the difference from the previous scene.
    mutating func show(_ scene: Scene, now: MediaTime) {
        guard isRunning else { return }
        watchdog.begin(at: now)
        guard scene != self.scene else { return }
        process.send(self.scene.map { .sceneChange(scene.difference(from: $0)) } ?? .scene(scene))
        self.scene = scene
    }

    /// Plays these idle media from now on; `nil` stops them.
    mutating func play(_ playlist: MixerPlaylist?) {
        guard isRunning, playlist != self.playlist else { return }
        self.playlist = playlist
        process.send(.play(playlist))
    }

    /// Sends the configurations and the current GOP of a source, so that decoding can start at once.
    mutating func replay(_ source: SourceID, _ timeline: SourceTimeline, now: MediaTime) {
        guard isRunning, sources.insert(source).inserted else { return }
        replays.add(timeline.currentGOP.reduce(0) { $0 + $1.footprint }, at: now)
        for configuration in [timeline.video, timeline.audio].compactMap({ $0 }) {
            process.send(.configuration(source, configuration))
        }
        for frame in timeline.currentGOP { process.send(.frame(source, frame)) }
    }

    func configure(_ source: SourceID, _ configuration: CodecConfiguration) {
        guard sources.contains(source) else { return }
        process.send(.configuration(source, configuration))
    }

    /// Tells the mixer that no media of these tracks of a source is arriving.
    mutating func noteStalled(_ tracks: [Track], of source: SourceID) {
        guard isRunning, sources.contains(source) else { return }
        for track in tracks where stalled[source, default: []].insert(track).inserted {
            process.send(.stalled(source, track))
        }
    }

    mutating func send(_ frame: EncodedFrame, of source: SourceID) {
        guard sources.contains(source) else { return }
        if !stalled.isEmpty { stalled[source]?.remove(frame.track) }
        process.send(.frame(source, frame))
    }

    mutating func remove(_ source: SourceID) {
        guard sources.remove(source) != nil else { return }
        process.send(.ended(source))
    }

    /// Returns whether this mixer can produce such a program.
    func fits(_ canvas: Canvas, _ plan: ProgramPlan) -> Bool {
        guard let setup else { return true }
        guard encoding == plan.encoding, setup.hasVideo == (plan.tracks != .audio) else { return false }
        return !setup.hasVideo
            || setup.canvas.width == canvas.width && setup.canvas.height == canvas.height
                && setup.canvas.fps == canvas.fps
    }
}
