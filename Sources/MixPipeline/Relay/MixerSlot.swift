import LayoutEngine
import MixModel
import ProgramSplicer

/// A program's current mixer and what it has been told.
struct MixerSlot {
    let generation: Int
    let process: MixerProcess
    /// `nil` while the process only waits, warm.
    private(set) var setup: MixerSetup?
    private(set) var scene: Scene?
    /// What it told before it ended, or why it was killed.
    var failure: String?
    /// Each so manieth frame of the canvas is made.
    private(set) var frameDivisor = 1
    private(set) var pace = FramePace()
    /// As it told last, 0…255.
    var volumes: [SourceID: Int] = [:]
    private var reportsVolumes = false
    private var encoding: EncodingSettings?
    private var sources: Set<SourceID> = []

    init(generation: Int, process: MixerProcess) {
        self.generation = generation
        self.process = process
    }

    var feed: Feed { .mixer(generation) }
    var isRunning: Bool { setup != nil }

    mutating func start(_ setup: MixerSetup, encoding: EncodingSettings?) {
        self.setup = setup
        self.encoding = encoding
        process.send(.start(setup))
    }

    /// Makes only each so manieth frame from the next one on.
    mutating func divideFrames(by divisor: Int) {
        guard isRunning, divisor != frameDivisor else { return }
        frameDivisor = divisor
        process.send(.frameDivisor(divisor))
    }

    /// Tells how loud the sources are, from now on or no more.
    mutating func reportVolumes(_ isWanted: Bool) {
        guard isRunning, isWanted != reportsVolumes else { return }
        reportsVolumes = isWanted
        volumes = [:]
        process.send(.reportVolumes(isWanted))
    }

    /// Notes how a frame came; program time.
    mutating func note(_ frame: EncodedFrame, now: MediaTime) {
        guard frame.track == .video, let setup else { return }
        pace.take(
            pts: frame.pts, now: now, origin: setup.videoOrigin,
            interval: .units(Int64(frameDivisor), rate: setup.canvas.fps))
    }

    /// What it has used so far; `nil` once its process is gone.
    var load: MixerLoad? {
        ProcessClock.seconds(of: process.processID).map {
            MixerLoad(processID: process.processID, cpuSeconds: $0, frameDivisor: frameDivisor, pace: pace)
        }
    }

    /// Shows `scene` from the next frame on. The mixer is told what is different from the one before.
    mutating func show(_ scene: Scene) {
        guard isRunning, scene != self.scene else { return }
        process.send(self.scene.map { .sceneChange(scene.difference(from: $0)) } ?? .scene(scene))
        self.scene = scene
    }

    /// Replays what a decoder needs to begin with this source.
    mutating func replay(_ source: SourceID, _ timeline: SourceTimeline) {
        guard isRunning, sources.insert(source).inserted else { return }
        for configuration in [timeline.video, timeline.audio].compactMap({ $0 }) {
            process.send(.configuration(source, configuration))
        }
        for frame in timeline.currentGOP { process.send(.frame(source, frame)) }
    }

    func configure(_ source: SourceID, _ configuration: CodecConfiguration) {
        guard sources.contains(source) else { return }
        process.send(.configuration(source, configuration))
    }

    func send(_ frame: EncodedFrame, of source: SourceID) {
        guard sources.contains(source) else { return }
        process.send(.frame(source, frame))
    }

    mutating func remove(_ source: SourceID) {
        guard sources.remove(source) != nil else { return }
        process.send(.ended(source))
    }

    /// Whether such a program can be made without another mixer.
    func fits(_ canvas: Canvas, _ plan: ProgramPlan) -> Bool {
        guard let setup else { return true }
        guard encoding == plan.encoding, setup.hasVideo == (plan.tracks != .audio) else { return false }
        return !setup.hasVideo
            || setup.canvas.width == canvas.width && setup.canvas.height == canvas.height
                && setup.canvas.fps == canvas.fps
    }
}
