import MixModel
import TestSupport

@testable import EncodedMedia
@testable import ProgramSplicer

/// Runs a splicer over a simulated host and mixer, switching at given times, and keeps the frames for viewers.
struct SplicerSimulation {
    var source = SimulatedSource()
    var mixerFPS = 20
    /// Renders every n-th canvas frame; requested ones are always rendered.
    var mixerDivisor = 1
    var mixerLatency = MediaTime.milliseconds(20)
    /// The mix shows no participant's pictures until the way back, which shows the host: its frames are made at their
    /// times, independently of the host's arrivals.
    var showsCards = false
    /// Delay from the request for a mix to the mixer's start.
    var mixerStart = MediaTime.milliseconds(120)

    private(set) var splicer = Splicer()
    private(set) var video: [EncodedFrame] = []
    private(set) var audio: [EncodedFrame] = []
    private(set) var splices: [Splice] = []

    private var mixer: SimulatedMixer?
    private var generation = 0
    private var queue: [(time: MediaTime, work: Work)] = []

    private enum Work {
        case arrival(EncodedFrame)
        case mixed(EncodedFrame, generation: Int)
        case wantMix
        case startMixer(Int)
        case wantBypass
    }

    static let host: SourceID = "host/camera"
    /// An AAC-LC configuration, stereo.
    private var audioConfiguration: CodecConfiguration {
        CodecConfiguration(track: .audio, bytes: source.sampleRate == 48000 ? [0x11, 0x90] : [0x12, 0x10])
    }
    private var waitsForNobody: Bool { showsCards && splicer.target?.isMixer ?? false }
    private var host: SpliceInput { .source(SplicerSimulation.host) }

    init(source: SimulatedSource = SimulatedSource(), mixerFPS: Int? = nil) {
        self.source = source
        self.mixerFPS = mixerFPS ?? source.fps
    }

    /// Runs the simulation; `switches` alternate: mix, bypass, mix …
    mutating func run(seconds: Double, switches: [MediaTime], using random: inout SeededGenerator) {
        splicer.configure(host, CodecConfiguration(track: .video, bytes: [1]))
        if source.hasAudio { splicer.configure(host, audioConfiguration) }
        splicer.setInterval(.units(1, rate: source.fps), of: host)
        perform(splicer.setTarget(host, now: .zero))
        queue = source.arrivals(seconds: seconds, using: &random).map { ($0.time, .arrival($0.frame)) }
        for (index, time) in switches.enumerated() { queue.append((time, index % 2 == 0 ? .wantMix : .wantBypass)) }
        queue.sort { $0.time < $1.time }
        while !queue.isEmpty {
            let (now, work) = queue.removeFirst()
            perform(splicer.advance(to: now))
            step(work, now: now)
        }
    }

    private mutating func schedule(_ work: Work, at time: MediaTime) {
        let index = queue.firstIndex { $0.time > time } ?? queue.endIndex
        queue.insert((time, work), at: index)
    }

    private mutating func step(_ work: Work, now: MediaTime) {
        switch work {
        case .arrival(let frame):
            perform(splicer.frame(frame, of: host, now: now))
            feedMixer(frame, now: now)
        case .mixed(let frame, let generation):
            guard generation == mixer?.generation else { return }
            perform(splicer.frame(frame, of: .mixer(generation), now: now))
        case .wantMix:
            generation += 1
            if let onAir = splicer.onAir, onAir.isMixer {
                // The mix is still on air while it waits for the host's next IDR, and stays.
                perform(splicer.setTarget(onAir, now: now))
                return
            }
            schedule(.startMixer(generation), at: now + mixerStart)
        case .startMixer(let generation):
            guard generation == self.generation, let last = splicer.lastVideo else { return }
            let feed = SpliceInput.mixer(generation)
            splicer.configure(feed, CodecConfiguration(track: .video, bytes: [2]))
            splicer.configure(feed, audioConfiguration)
            splicer.setInterval(.units(1, rate: mixerFPS), of: feed)
            mixer = SimulatedMixer(
                generation: generation, origin: last + .units(2, rate: source.fps), fps: mixerFPS,
                latency: mixerLatency)
            perform(splicer.setTarget(feed, now: now))
        case .wantBypass:
            generation += 1
            perform(splicer.setTarget(host, now: now))
        }
    }

    /// Makes, for each arriving host frame, the ticks up to it.
    private mutating func feedMixer(_ frame: EncodedFrame, now: MediaTime) {
        guard var mixer else { return }
        let content = Content(frame.payload)
        if frame.track == .audio {
            guard frame.pts >= mixer.origin else { return }
            var mixed = frame
            mixed.payload = Content(isMixed: true, index: content.index).payload
            schedule(.mixed(mixed, generation: mixer.generation), at: now + mixer.latency)
            guard waitsForNobody else { return }
        }
        // With B-frames a picture leaves the decoder once no earlier one can follow.
        let shown = waitsForNobody ? now : source.bFrames > 0 ? frame.dts : frame.pts
        while mixer.nextTime <= shown + .milliseconds(1) {
            let elapsed = mixer.nextTime + .units(1, rate: source.fps) / 2 - source.phase
            let index = Int(elapsed.nanoseconds * Int64(source.fps) / 1_000_000_000)
            guard let mixed = mixer.tick(showing: index, divisor: mixerDivisor) else { continue }
            schedule(.mixed(mixed, generation: mixer.generation), at: now + mixer.latency)
        }
        self.mixer = mixer
    }

    private mutating func perform(_ actions: [Splicer.Action]) {
        for action in actions {
            switch action {
            case .emit(let frame) where frame.track == .video: video.append(frame)
            case .emit(let frame): audio.append(frame)
            case .requestIDR(_, let time): mixer?.requests.append(time)
            case .switched(let splice):
                splices.append(splice)
                // The interval of a mixer on air is that of the frames it makes, as in a relay.
                if splice.to.isMixer { splicer.setInterval(.units(Int64(mixerDivisor), rate: mixerFPS), of: splice.to) }
            case .configure, .shift: break
            }
        }
    }
}
