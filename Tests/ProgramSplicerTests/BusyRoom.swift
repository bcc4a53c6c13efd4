import MixModel
import TestSupport

@testable import EncodedMedia
@testable import ProgramSplicer

/// A program whose host's packets are delayed: a relay handles them and those of a mixer, in simulated time.
struct BusyRoom {
    struct Sent {
        var frame: EncodedFrame
        /// Arrival time of the frame; `nil` if it comes from the mixer.
        var arrival: SimulatedPublisher.Arrival?
        /// The frame with the times that its source gave it.
        var own: EncodedFrame { arrival?.frame ?? frame }
    }

    /// Whether a mix is wanted.
    var wantsMix = false
    private(set) var video: [Sent] = []
    private(set) var audio: [Sent] = []
    private(set) var splicer = Splicer()
    private(set) var timeline = SourceTimeline()
    /// Number of times that the source's mapping has moved while it was copied.
    private(set) var movements = 0

    private var now = MediaTime.zero
    private var watch = StallWatch()
    private var arrivals: [SimulatedPublisher.Arrival] = []
    private var taken: [Int: SimulatedPublisher.Arrival] = [:]
    private var mixer: SimulatedMixer?
    private var mixerBegins = MediaTime.zero
    private var generation = 0
    private var mixed: [(time: MediaTime, frame: EncodedFrame)] = []
    private var nextSound: MediaTime?
    /// Decoding time that the host has reached.
    private var reached = MediaTime.zero

    private static let source: SourceID = "host/camera"
    private static let host = SpliceInput.source(source)
    private static let tick = MediaTime.milliseconds(10)
    /// Longest time for which a mix waits for the host.
    private static let mixerPatience = MediaTime.milliseconds(150)
    private static let mixerLead = MediaTime.milliseconds(250)
    private static let mixerLatency = MediaTime.milliseconds(20)

    init() {
        for configuration in [
            CodecConfiguration(track: .video, bytes: [1]), CodecConfiguration(track: .audio, bytes: [0x11, 0x90]),
        ] {
            _ = timeline.accept(.configuration(configuration), arrival: .zero)
            splicer.configure(Self.host, configuration)
        }
    }

    /// Receives arrivals, and lets `seconds` pass.
    mutating func take(_ arrivals: [SimulatedPublisher.Arrival], seconds: Double) {
        self.arrivals += arrivals
        let end = now + .seconds(seconds)
        while now < end {
            let next = now + Self.tick
            while let first = self.arrivals.first, first.time < next {
                self.arrivals.removeFirst()
                now = max(now, first.time)
                arrived(first)
                passMixed()
            }
            now = next
            pass()
        }
    }

    private mutating func arrived(_ arrival: SimulatedPublisher.Arrival) {
        taken[Content(arrival.frame.payload).index] = arrival
        let isCopied = splicer.onAir == Self.host
        let role = SourceClock.Role(
            isOnAir: isCopied || splicer.onAir?.isMixer ?? false, isCopied: isCopied,
            isLeaving: isCopied && splicer.target?.isMixer ?? false)
        let offset = timeline.clock.offset
        for event in timeline.accept(.frame(arrival.frame), arrival: now, as: role) {
            switch event {
            case .configuration: break
            case .moved(let amount):
                watch.moved(at: now)
                splicer.move(Self.host, by: amount)
            case .discontinuity: watch.moved(at: now)
            case .frame(let frame):
                if frame.track == .video {
                    watch.arrived(at: now, interval: timeline.frameInterval)
                    splicer.setInterval(timeline.frameInterval, of: Self.host)
                }
                perform(splicer.frame(frame, of: Self.host, now: now))
                reached = frame.dts
                runMixer()
            }
        }
        if isCopied, let offset, let new = timeline.clock.offset, (new - offset).magnitude > .milliseconds(2) {
            movements += 1
        }
    }

    private mutating func pass() {
        runMixer()
        passMixed()
        if splicer.onAir == Self.host, watch.hasStalled(at: now) { perform(splicer.ended(Self.host, now: now)) }
        perform(splicer.advance(to: now))
        decide()
    }

    private mutating func decide() {
        let canCopy =
            timeline.isDecodable(at: now) && timeline.clock.isSettled(at: now) && !watch.hasStalled(at: now)
        switch splicer.onAir {
        case nil:
            guard canCopy else { return }
            perform(splicer.setTarget(Self.host, now: now))
            for frame in timeline.currentGOP where frame.track == .video {
                perform(splicer.frame(frame, of: Self.host, now: now))
            }
        case .source:
            if wantsMix || watch.hasStalled(at: now) { mix() } else { copy() }
        case .mixer:
            if wantsMix || !canCopy || !watch.isSteady(at: now) { mix() } else { copy() }
        }
    }

    private mutating func copy() {
        perform(splicer.setTarget(Self.host, now: now))
        guard splicer.onAir == Self.host, let mixer else { return }
        perform(splicer.remove(.mixer(mixer.generation), now: now))
        self.mixer = nil
        mixed = []
    }

    private mutating func mix() {
        if mixer == nil, let last = splicer.lastVideo {
            generation += 1
            mixerBegins = now + .milliseconds(60)
            let interval = timeline.frameInterval
            let frames: Int64 = watch.isSuspect(at: now) ? 1 : 2
            mixer = SimulatedMixer(
                generation: generation, origin: last + interval * frames,
                fps: max(Int((1 / interval.inSeconds).rounded()), 1), latency: Self.mixerLatency)
            let feed = SpliceInput.mixer(generation)
            splicer.configure(feed, CodecConfiguration(track: .video, bytes: [2]))
            splicer.configure(feed, CodecConfiguration(track: .audio, bytes: [0x11, 0x90]))
            splicer.setInterval(interval, of: feed)
            nextSound = splicer.audioGrid?.next
        }
        if let mixer { perform(splicer.setTarget(.mixer(mixer.generation), now: now)) }
    }

    /// Makes the frames that are due: once the host has reached them, or when they cannot wait any longer.
    private mutating func runMixer() {
        guard var mixer, now >= mixerBegins else { return }
        let limit = min(max(reached, now - Self.mixerPatience), now + Self.mixerLead)
        while mixer.nextTime <= limit {
            if let frame = mixer.tick(showing: mixer.nextTick, divisor: 1) {
                mixed.append((now + Self.mixerLatency, frame))
            }
        }
        while let time = nextSound, time <= limit {
            let content = Content(isMixed: true, index: 0)
            let frame = EncodedFrame(track: .audio, pts: time, dts: time, payload: content.payload)
            mixed.append((now + Self.mixerLatency, frame))
            nextSound = time + .units(1024, rate: 48000)
        }
        self.mixer = mixer
    }

    private mutating func passMixed() {
        while let first = mixed.first, first.time <= now, let mixer {
            mixed.removeFirst()
            perform(splicer.frame(first.frame, of: .mixer(mixer.generation), now: now))
        }
    }

    private mutating func perform(_ actions: [Splicer.Action]) {
        for action in actions {
            switch action {
            case .emit(let frame):
                let content = Content(frame.payload)
                let sent = Sent(frame: frame, arrival: content.isMixed ? nil : taken[content.index])
                if frame.track == .video { video.append(sent) } else { audio.append(sent) }
            case .shift(_, let amount): timeline.shift(by: amount)
            case .requestIDR(let generation, let time):
                if mixer?.generation == generation { mixer?.requests.append(time) }
            case .configure, .switched: break
            }
        }
    }
}
