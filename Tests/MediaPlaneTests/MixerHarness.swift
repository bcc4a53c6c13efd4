import Foundation
import LayoutEngine
import MixModel
import Synchronization
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

/// Tests that play streams at their real speed: one after another, so that they do not make each other late.
@Suite("Real time", .serialized) enum RealTime {}

/// A source as a test plays it.
struct PlayedSource {
    var id: SourceID
    /// In program time.
    var tracks: [TestTrack]
    /// From a frame's decoding time to its arrival.
    var lateness: MediaTime = .milliseconds(15)
    /// Arrives only from this program time on; what came before is given at once, like a relay's GOP cache.
    var joins: MediaTime = .zero
}

/// What a mixer reported, with program times of arrival.
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

/// Plays sources into a mixer in real time.
struct MixerHarness {
    var setup: MixerSetup
    var tuning = EncoderTuning()
    var kinds = VideoEncoderKinds.all
    var mediaDirectories: [String] = []
    var sources: [PlayedSource] = []
    /// Commands at program times.
    var commands: [(MediaTime, MixerCommand)] = []

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

    /// Two panes beside each other, or one over everything.
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
        let programStart = MonotonicClock.now() - start.nanoseconds
        setup.programStart = programStart
        let now = { @Sendable in MediaTime(nanoseconds: MonotonicClock.now() - programStart) }
        let mixer = Mixer(tuning: tuning, kinds: kinds, mediaDirectories: mediaDirectories) { report in
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
        for (_, delivery) in ordered where delivery.time < end {
            let wait = delivery.time - now()
            if wait > .zero { try await Task.sleep(for: .nanoseconds(wait.nanoseconds)) }
            mixer.handle(delivery.command)
        }
        let rest = end - now()
        if rest > .zero { try await Task.sleep(for: .nanoseconds(rest.nanoseconds)) }
        await mixer.stop()
        return box.record.withLock { $0 }
    }
}
