import Foundation
import LayoutEngine
import MixModel
import Synchronization
import TestSupport
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

/// Tests that play streams in real time: one after another, so that they do not delay each other.
@Suite("Real time", .serialized) enum RealTime {}

/// A source as played by a test.
struct PlayedSource {
    var id: SourceID
    /// Tracks in program time.
    var tracks: [TestTrack]
    /// Delay from a frame's decoding time to its arrival.
    var lateness: MediaTime = .milliseconds(15)
    /// Program time of the first arrival; earlier frames are delivered at once, like a relay's GOP cache.
    var joins: MediaTime = .zero
}

/// Reports of a mixer, with program times of arrival.
struct MixerRecord {
    var video = TestTrack(configuration: CodecConfiguration(track: .video, bytes: []), frames: [])
    var audio = TestTrack(configuration: CodecConfiguration(track: .audio, bytes: []), frames: [])
    var videoArrivals: [MediaTime] = []
    var audioArrivals: [MediaTime] = []
    var failures: [String] = []
    var notes: [String] = []
    var volumes: [[SourceID: Int]] = []
    var delays: [[SourceID: MediaTime]] = []
    var idle: [IdleStatus] = []
    /// Numbers of pictures that each source's decoder had been given at `MixerHarness.countTimes`.
    var decoded: [[SourceID: Int]] = []

    var medianVideoLatency: Double {
        Self.median(zip(videoArrivals, video.frames).map { ($0 - $1.pts).inMilliseconds })
    }
    var medianAudioLatency: Double {
        Self.median(zip(audioArrivals, audio.frames).map { ($0 - $1.pts).inMilliseconds })
    }

    static func median(_ values: [Double]) -> Double {
        values.isEmpty ? .nan : values.sorted()[values.count / 2]
    }
}

/// Plays sources into a mixer, in program time that passes like real time while the machine keeps up.
///
/// The subject is what a mix makes of the frames present at a time, not the load of the machine: time does not go
/// beyond the delivered frames, and passes at a quarter of the speed while the mix is late.
struct MixerHarness {
    var setup: MixerSetup
    var tuning = EncoderTuning()
    var kinds = VideoEncoderKinds.all
    var mediaDirectories: [String] = []
    var sources: [PlayedSource] = []
    /// Commands at program times.
    var commands: [(MediaTime, MixerCommand)] = []
    /// Program times at which decoded pictures are counted, in order, all before the last delivery.
    var countTimes: [MediaTime] = []
    /// Range of program time that always passes slowly: for work with a time limit in the mix.
    var slow: Range<MediaTime>?
    /// Pauses after each step of program time in `slow`, as long as the step: 3 are a quarter of the speed.
    var slowness: Int64 = 3
    /// Whether time never slows down, for measurements of cost.
    var isRigid = false

    /// Longest step of program time.
    private static let beat = MediaTime.milliseconds(50)
    /// Lateness of the last picture, or of the last sound if there is none, from which on time passes slowly. A mix
    /// waits this long, or slightly longer, only where a frame is missing.
    private static let late = MediaTime.milliseconds(200)
    /// The longest wait of a mix, and the distance of its frames where some are left out.
    private static let longestWait = MediaTime.milliseconds(650)

    static func setup(
        width: Int = 360, height: Int = 640, fps: Int = 20, colour: ColourSignal = .unsignalled, host: SourceID? = nil,
        videoOrigin: MediaTime = .milliseconds(500), audioOrigin: MediaTime = .milliseconds(500),
        rate: Int = 48_000, channels: Int = 2
    ) -> MixerSetup {
        MixerSetup(
            canvas: Canvas(width: width, height: height, fps: fps), videoOrigin: videoOrigin, audioOrigin: audioOrigin,
            programStart: 0, sampleRate: rate, channels: channels, colour: colour, videoBitrate: 2_000_000,
            audioBitrate: 128_000, host: host)
    }

    /// Returns two panes beside each other, or one over the whole canvas.
    static func scene(
        _ setup: MixerSetup, _ ids: [SourceID], fit: Pane.Fit = .stretch, heard: [SourceID] = []
    ) -> Scene {
        let width = setup.canvas.width / max(1, ids.count) / 2 * 2
        return Scene(
            canvas: setup.canvas,
            panes: ids.enumerated().map { index, id in
                Pane(
                    source: id.rawValue, user: id.user.rawValue, x: index * width, y: 0, width: width,
                    height: setup.canvas.height, z: index, fit: fit)
            }, sound: SceneSound(levels: heard.map { SceneSound.Level(source: $0.rawValue) }))
    }

    /// - Parameters:
    ///   - start: Program time at which the mixer is started.
    ///   - end: Program time at which the run ends.
    func run(start: MediaTime, end: MediaTime) async throws -> MixerRecord {
        let record = Mutex(MixerRecord())
        return try await run(start: start, end: end, into: Box(record))
    }

    private final class Box: Sendable {
        let record: Mutex<MixerRecord>
        init(_ record: consuming sending Mutex<MixerRecord>) { self.record = record }
    }

    private func run(start: MediaTime, end: MediaTime, into box: Box) async throws -> MixerRecord {
        var setup = setup
        let clock = PatientClock(until: isRigid ? .max : 0)
        let programStart = clock.now() - start.nanoseconds
        setup.programStart = programStart
        let now = { @Sendable in MediaTime(nanoseconds: clock.now() - programStart) }
        let mixer = Mixer(
            tuning: tuning, kinds: kinds, mediaDirectories: mediaDirectories, clock: { clock.now() }
        ) { report in
            let arrival = now()
            box.record.withLock { record in
                switch report {
                case .configuration(let configuration):
                    if configuration.track == .video { record.video.configuration = configuration }
                    if configuration.track == .audio { record.audio.configuration = configuration }
                case .frame(let frame) where frame.track == .video:
                    record.video.frames.append(frame)
                    record.videoArrivals.append(arrival)
                case .frame(let frame):
                    record.audio.frames.append(frame)
                    record.audioArrivals.append(arrival)
                case .sourceFailed(let source, let reason): record.failures.append("\(source): \(reason)")
                case .volumes(let volumes): record.volumes.append(volumes)
                case .delays(let delays): record.delays.append(delays)
                case .note(let code, let message): record.notes.append("\(code): \(message)")
                case .idle(let status, _): record.idle.append(status)
                case .failed(let reason): record.failures.append(reason)
                }
            }
        }
        mixer.handle(.start(setup))
        var deliveries: [(time: MediaTime, command: MixerCommand)] = commands.map { ($0.0, $0.1) }
        for source in sources {
            for track in source.tracks {
                deliveries.append((source.joins, .configuration(source.id, track.configuration)))
                for frame in track.frames {
                    deliveries.append((Swift.max(source.joins, frame.dts + source.lateness), .frame(source.id, frame)))
                }
            }
        }
        // Stable for equal times: configurations before frames, frames in decoding order.
        let ordered = deliveries.enumerated().sorted {
            ($0.element.time, $0.offset) < ($1.element.time, $1.offset)
        }
        var countTimes = countTimes[...]
        for (_, delivery) in ordered where delivery.time < end {
            while let time = countTimes.first, time <= delivery.time {
                countTimes.removeFirst()
                try await pass(until: time, clock, now, box)
                let counts = sources.map { ($0.id, mixer.picturesDecoded(of: $0.id)) }
                box.record.withLock { $0.decoded.append(Dictionary(counts) { _, last in last }) }
            }
            try await pass(until: delivery.time, clock, now, box)
            mixer.handle(delivery.command)
        }
        try await pass(until: end, clock, now, box)
        try await settle(end, box)
        await mixer.stop()
        return box.record.withLock { $0 }
    }

    /// Advances program time in beats.
    private func pass(
        until time: MediaTime, _ clock: PatientClock, _ now: () -> MediaTime, _ box: Box
    ) async throws {
        while case let begin = now(), begin < time {
            let next = isRigid ? time : min(time, begin + Self.beat)
            clock.allow((next - begin).nanoseconds)
            while case let wait = next - now(), wait > .zero {
                try await Task.sleep(for: .nanoseconds(wait.nanoseconds))
            }
            let isSlow = slow?.contains(next) ?? false
            let rest: Int64 = isRigid ? 0 : isLate(box, at: next) ? 3 : isSlow ? slowness : 0
            if rest > 0 { try await Task.sleep(for: .nanoseconds((next - begin).nanoseconds * rest)) }
        }
    }

    private func isLate(_ box: Box, at time: MediaTime) -> Bool {
        box.record.withLock { record in
            let frames = setup.hasVideo ? record.video.frames : record.audio.frames
            let origin = setup.hasVideo ? setup.videoOrigin : setup.audioOrigin
            return time - (frames.last?.pts ?? origin) > Self.late + Self.beat
        }
    }

    /// Waits while time stands still: first for every frame for which the mix no longer waits, then for every other
    /// frame that it can make.
    private func settle(_ end: MediaTime, _ box: Box) async throws {
        func counts() -> [Int] { box.record.withLock { [$0.video.frames.count, $0.audio.frames.count] } }
        _ = try await poll(within: .seconds(10), every: .milliseconds(10)) {
            let last = box.record.withLock { ($0.video.frames.last?.pts, $0.audio.frames.last?.pts) }
            let hasVideo = !setup.hasVideo || (last.0 ?? .zero) > end - Self.longestWait
            return hasVideo && (last.1 ?? .zero) > end - Self.longestWait ? true : nil
        }
        var before = [-1]
        while case let found = counts(), found != before {
            before = found
            try await Task.sleep(for: .milliseconds(200))
        }
    }
}

/// A clock that stops at the time until which it was allowed to run.
private final class PatientClock: Sendable {
    private struct State {
        var limit: Int64
        /// Time for which the clock has stood still, in ns.
        var lost: Int64 = 0
    }
    private let state: Mutex<State>

    /// - Parameter limit: In ns of CLOCK_MONOTONIC; a time in the past means now.
    init(until limit: Int64) { state = Mutex(State(limit: max(limit, MonotonicClock.now()))) }

    func now() -> Int64 { state.withLock { Self.read(&$0) } }

    /// Lets the clock run for `amount` ns from now on.
    func allow(_ amount: Int64) { state.withLock { $0.limit = max($0.limit, Self.read(&$0) + amount) } }

    private static func read(_ state: inout State) -> Int64 {
        let time = MonotonicClock.now() - state.lost
        guard time > state.limit else { return time }
        state.lost += time - state.limit
        return state.limit
    }
}
