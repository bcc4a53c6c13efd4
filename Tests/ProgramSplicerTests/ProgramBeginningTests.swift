import MixModel
import ProgramSplicer
import TestSupport
import Testing

@testable import EncodedMedia

/// A program begins with the frames that its source sent while its place in time was being determined.
@Suite struct ProgramBeginningTests {
    static let source: SourceID = "host/camera"

    /// Arrivals are less and less late, as on a new connection, with or without a burst of a cached GOP.
    @Test("pictures and sound keep the distances their source gave them", arguments: 0..<40 as Range<UInt64>)
    func distances(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let isBurst = seed % 4 == 0
        var timeline = SourceTimeline()
        var splicer = Splicer()
        let feed = SpliceInput.source(Self.source)
        var emitted: [(made: MediaTime, frame: EncodedFrame)] = []
        func perform(_ actions: [Splicer.Action]) {
            for case .emit(let frame) in actions { emitted.append((frame.made, frame)) }
        }
        let configurations = [
            CodecConfiguration(track: .video, bytes: [1]), CodecConfiguration(track: .audio, bytes: [0x11, 0x90]),
        ]
        for configuration in configurations {
            _ = timeline.accept(.configuration(configuration), arrival: .zero, as: .init(isOnAir: false))
            splicer.configure(feed, configuration)
        }
        let frames = Self.frames(seconds: 4)
        let goesOnAir = MediaTime.milliseconds(Int.random(in: 300...1500, using: &random))
        var lateness = MediaTime.milliseconds(Int.random(in: 2...40, using: &random))
        var arrival = MediaTime.zero
        for frame in frames {
            if Int.random(in: 0..<8, using: &random) == 0 { lateness = lateness * 3 / 4 }
            let due = isBurst ? max(frame.dts, .milliseconds(1000)) : frame.dts
            arrival = max(arrival, due + lateness)
            let isOnAir = splicer.onAir == feed
            for event in timeline.accept(
                .frame(frame), arrival: arrival, as: .init(isOnAir: isOnAir, isCopied: isOnAir))
            {
                switch event {
                case .moved(let amount): splicer.move(feed, by: amount)
                case .frame(let frame): perform(splicer.frame(frame, of: feed, now: arrival))
                case .configuration, .discontinuity: Issue.record("seed \(seed): \(event)")
                }
            }
            guard splicer.target == nil, arrival >= goesOnAir, timeline.isDecodable(at: arrival),
                timeline.clock.isSettled(at: arrival)
            else { continue }
            perform(splicer.setTarget(feed, now: arrival))
            for frame in timeline.currentGOP where frame.track == .video {
                perform(splicer.frame(frame, of: feed, now: arrival))
            }
        }
        let first = try #require(emitted.first, "seed \(seed)")
        #expect(emitted.count > 150, "seed \(seed)")
        let shift = first.frame.pts - first.made
        for (made, frame) in emitted {
            // On air, the timeline follows its source's clock by at most half a millisecond a second.
            let moved = (frame.pts - made - shift).magnitude
            #expect(moved <= .milliseconds(2), "seed \(seed): \(frame.track) made at \(made) moved by \(moved)")
        }
        for track in [Track.video, .audio] {
            let times = emitted.filter { $0.frame.track == track }
            for (before, after) in zip(times, times.dropFirst()) {
                let step = (after.frame.pts - before.frame.pts) - (after.made - before.made)
                #expect(
                    step.magnitude < MediaTime(nanoseconds: 100_000), "seed \(seed): \(track) made at \(after.made)")
            }
        }
    }

    /// Returns 20 pictures a second, a keyframe a second, and sound, in the order of their times, which are also their
    /// contents.
    private static func frames(seconds: Int64) -> [EncodedFrame] {
        let pictures = (0..<seconds * 20).map { (Track.video, MediaTime.units($0, rate: 20), $0 % 20 == 0) }
        let sound = (0..<seconds * 48000 / 1024).map { (Track.audio, MediaTime.units($0 * 1024, rate: 48000), false) }
        return (pictures + sound).sorted { $0.1 < $1.1 }.map { track, time, isIDR in
            let payload = withUnsafeBytes(of: time.nanoseconds.littleEndian) { [UInt8]($0) }
            return EncodedFrame(track: track, pts: time, dts: time, isIDR: isIDR, payload: payload)
        }
    }
}

extension EncodedFrame {
    /// The frame's time on its source's timeline.
    fileprivate var made: MediaTime {
        MediaTime(nanoseconds: payload.withUnsafeBytes { Int64(littleEndian: $0.loadUnaligned(as: Int64.self)) })
    }
}
