import MixModel
import TestSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramSplicer

/// A bypass stays near wall time, regardless of its source's timestamps, so that a mix can take over.
@Suite struct BypassClockTests {
    /// A program that copies one source.
    private struct Bypass {
        private static let host = SpliceInput.source("host/camera")
        var timeline = SourceTimeline()
        var splicer = Splicer()
        var isLeaving = false
        /// Frames sent, with the times of sending.
        var video: [(frame: EncodedFrame, at: MediaTime)] = []
        var audio: [(frame: EncodedFrame, at: MediaTime)] = []
        var taken = (video: 0, audio: 0)
        var discontinuities = 0
        /// Program time minus recording time of the last frame of each track, before `Splicer`.
        var place: [Track: MediaTime] = [:]
        /// Least lateness of the packets since this was set to `nil`.
        var least: MediaTime?

        init() {
            for configuration in [
                CodecConfiguration(track: .video, bytes: [1]), CodecConfiguration(track: .audio, bytes: [0x11, 0x90]),
            ] {
                _ = timeline.accept(.configuration(configuration), arrival: .zero)
                splicer.configure(Self.host, configuration)
            }
            perform(splicer.setTarget(Self.host, now: .zero), at: .zero)
        }

        mutating func take(_ arrivals: [SimulatedPublisher.Arrival]) {
            for arrival in arrivals {
                let isCopied = splicer.onAir == Self.host
                let role = SourceClock.Role(isOnAir: isCopied, isCopied: isCopied, isLeaving: isLeaving)
                for event in timeline.accept(.frame(arrival.frame), arrival: arrival.time, as: role) {
                    switch event {
                    case .frame(let frame):
                        if frame.track == .video { taken.video += 1 } else { taken.audio += 1 }
                        place[frame.track] = frame.pts - arrival.recorded - (arrival.frame.pts - arrival.frame.dts)
                        least = min(least ?? .seconds(9), arrival.time - frame.dts)
                        perform(splicer.frame(frame, of: Self.host, now: arrival.time), at: arrival.time)
                    case .moved(let amount): splicer.move(Self.host, by: amount)
                    case .discontinuity: discontinuities += 1
                    case .configuration: break
                    }
                }
                perform(splicer.advance(to: arrival.time), at: arrival.time)
            }
        }

        private mutating func perform(_ actions: [Splicer.Action], at now: MediaTime) {
            for case .emit(let frame) in actions {
                if frame.track == .video { video.append((frame, now)) } else { audio.append((frame, now)) }
            }
        }

        func requireOrder(_ note: String) throws {
            for frames in [video, audio] {
                for (left, right) in zip(frames, frames.dropFirst()) {
                    try #require(right.frame.dts > left.frame.dts, "\(note)")
                }
            }
        }
    }

    private enum Trouble: CaseIterable {
        case step, stepBack, later, sooner, reconnect, rebase, drift
    }

    @Test("after any trouble, a mix can take over within 3 s, and nothing is lost", arguments: 0..<5)
    func anyTrouble(part: Int) throws {
        var random = SeededGenerator(announcedFor: "BypassClockTests.anyTrouble")
        random = SeededGenerator(seed: random.seed &+ UInt64(part))
        for _ in 0..<TestLength.of(short: 10, long: 100) {
            var publisher = SimulatedPublisher(using: &random)
            publisher.fps = [5, 15, 25, 30, 60].randomElement(using: &random) ?? 25
            publisher.gop = publisher.fps * Int.random(in: 1...8, using: &random)
            publisher.reorder = [0, 0, 2].randomElement(using: &random) ?? 0
            var bypass = Bypass()
            bypass.take(publisher.play(4))
            try #require(bypass.splicer.onAir != nil)
            for _ in 0..<4 {
                let trouble = Trouble.allCases.randomElement(using: &random) ?? .step
                let amount = MediaTime.milliseconds(Int.random(in: 300...3_500, using: &random))
                let before = (bypass.taken, bypass.video.count, bypass.audio.count)
                var isReplayed = false
                switch trouble {
                case .step: publisher.step(by: amount)
                case .stepBack: publisher.step(by: -amount * 20)
                case .later: publisher.delay(by: amount)
                case .sooner: publisher.delay(by: -amount)
                case .drift: publisher.rate = 1 + Double.random(in: -0.002...0.002, using: &random)
                case .reconnect, .rebase:
                    isReplayed = true
                    bypass.take(publisher.reconnect(after: amount / 4, isRebased: trouble == .rebase))
                }
                // A burst comes up to 3.5 s later. With B-frames, viewers then have a picture that is displayed some
                // intervals later, and the following ones are compressed behind it until then.
                bypass.take(publisher.play(publisher.reorder > 0 ? 5 : 3))
                bypass.least = nil
                bypass.take(publisher.play(1))
                let note = "\(trouble) by \(amount), \(publisher.fps) fps, GOP \(publisher.gop), \(publisher.reorder)"
                let least = try #require(bypass.least)
                #expect(
                    least > -SourceClock.ahead - .milliseconds(5) && least < SourceClock.behind + .milliseconds(20),
                    "\(least): \(note)")
                let skew = try #require(bypass.place[.video]) - (try #require(bypass.place[.audio]))
                // While the offset slews, the last packets of the tracks differ by the correction made between them.
                #expect(skew.magnitude < SourceClock.nearCorrection, "\(skew): \(note)")
                try bypass.requireOrder(note)
                #expect(bypass.video.count - before.1 == bypass.taken.video - before.0.video, "\(note)")
                let lost = bypass.taken.audio - before.0.audio - (bypass.audio.count - before.2)
                // Sound that was played before is not repeated, and giving up a lead of up to `ahead` costs as much.
                if !isReplayed {
                    #expect(
                        lost <= (trouble == .sooner ? 10 + Int(amount.inMilliseconds / 21) : 10),
                        "\(lost) lost: \(note)")
                }
            }
        }
    }

    @Test(
        "tracks whose timestamps are far from each other are mapped by their arrival, once", arguments: [-4_000, 2_000])
    func apart(milliseconds: Int) throws {
        var random = SeededGenerator(announcedFor: "BypassClockTests.apart")
        var publisher = SimulatedPublisher(using: &random)
        var bypass = Bypass()
        for second in 0..<20 {
            let arrivals = publisher.play(1).map { arrival in
                var arrival = arrival
                guard arrival.frame.track == .audio else { return arrival }
                arrival.frame = arrival.frame.shifted(by: .milliseconds(milliseconds))
                return arrival
            }
            bypass.take(arrivals)
            guard second > 4 else { continue }
            let skew = (bypass.place[.video] ?? .zero) - (bypass.place[.audio] ?? .zero)
            #expect(skew.magnitude < .milliseconds(60), "\(skew) after \(second) s")
        }
        #expect(bypass.discontinuities <= 2)
        #expect(bypass.timeline.isDecodable(at: .seconds(20)))
        try bypass.requireOrder("\(milliseconds)")
    }

    @Test(
        "a step of one track alone moves only that track, and the other one stays where it is",
        arguments: [900, -900, 60_000])
    func oneTrack(milliseconds: Int) throws {
        var random = SeededGenerator(announcedFor: "BypassClockTests.oneTrack")
        var publisher = SimulatedPublisher(using: &random)
        var bypass = Bypass()
        bypass.take(publisher.play(5))
        for _ in 0..<5 {
            bypass.take(
                publisher.play(1).map { arrival in
                    var arrival = arrival
                    if arrival.frame.track == .video {
                        arrival.frame = arrival.frame.shifted(by: .milliseconds(milliseconds))
                    }
                    return arrival
                })
        }
        let skew = (bypass.place[.video] ?? .zero) - (bypass.place[.audio] ?? .zero)
        #expect((skew - .milliseconds(milliseconds)).magnitude > .milliseconds(500), "measured with the shift")
        #expect(bypass.discontinuities == 1)
        #expect(bypass.video.count == bypass.taken.video && bypass.taken.audio - bypass.audio.count <= 1)
        try bypass.requireOrder("\(milliseconds)")
    }

    @Test("sound that a server sends before its cached pictures keeps its distance from them")
    func soundFirst() throws {
        var random = SeededGenerator(announcedFor: "BypassClockTests.soundFirst")
        for _ in 0..<40 {
            var publisher = SimulatedPublisher(using: &random)
            publisher.gop = 25 * Int.random(in: 1...8, using: &random)
            var bypass = Bypass()
            bypass.take(publisher.play(Double.random(in: 4...8, using: &random)))
            let replay = publisher.reconnect(after: .milliseconds(600), isRebased: false)
            let begin = try #require(replay.first).time
            // Live sound for a while, then the past pictures, as fast as they can be sent.
            var live = publisher.play(0.3).filter { $0.frame.track == .audio }
            for index in live.indices { live[index].time = max(live[index].time, begin) }
            bypass.take(live)
            let time = try #require(live.last).time
            bypass.take(
                replay.filter { $0.frame.track == .video }.map { arrival in
                    var arrival = arrival
                    arrival.time = time
                    return arrival
                })
            bypass.take(publisher.play(4))
            let skew = (bypass.place[.video] ?? .zero) - (bypass.place[.audio] ?? .zero)
            #expect(skew.magnitude < .milliseconds(8), "\(skew)")
        }
    }

    @Test("what a mixer begins to decode with lies on one grid with what follows, while the offset slews")
    func replay() throws {
        var random = SeededGenerator(announcedFor: "BypassClockTests.replay")
        var publisher = SimulatedPublisher(using: &random)
        publisher.rate = 1.002
        publisher.gop = 100
        var bypass = Bypass()
        bypass.take(publisher.play(39.9))
        let group = bypass.timeline.currentGOP.filter { $0.track == .audio }
        let (first, last) = (try #require(group.first), try #require(group.last))
        #expect(group.count > 100)
        let length = MediaTime.units(1024 * Int64(group.count - 1), rate: 48000)
        // On the publisher's clock, with frames longer by 0.2 %.
        #expect((last.pts - first.pts - length).magnitude < .milliseconds(10))
        let newest = try #require(bypass.timeline.audioGrid)
        #expect(last.pts == newest.newest)
        let steps = zip(group, group.dropFirst()).map { $1.pts - $0.pts - .units(1024, rate: 48000) }
        #expect(steps.allSatisfy { $0.magnitude <= MediaTime(nanoseconds: 51_000) }, "\(steps.max() ?? .zero)")
    }

    @Test("a host with B-frames that is steadily late comes near its time when a mix is to take over")
    func lateHost() throws {
        var random = SeededGenerator(announcedFor: "BypassClockTests.lateHost")
        for reorder in [0, 2] {
            var publisher = SimulatedPublisher(using: &random)
            publisher.reorder = reorder
            var bypass = Bypass()
            bypass.take(publisher.play(4))
            publisher.delay(by: .milliseconds(260))
            bypass.take(publisher.play(4))
            bypass.isLeaving = true
            bypass.take(publisher.play(0.2))
            bypass.least = nil
            bypass.take(publisher.play(1))
            let least = try #require(bypass.least)
            // Without B-frames the mix still takes over.
            #expect((least < .milliseconds(60)) == (reorder > 0), "\(least)")
            #expect(bypass.video.count == bypass.taken.video)
            try bypass.requireOrder("\(reorder)")
        }
    }

    /// How fast a publisher's clock is compared with ours, seconds of it, and the largest latency in ms. A clock like
    /// that of most machines has to be followed for a day.
    private static let drifts: [(Double, Double, Double)] = {
        let long: Double = TestLength.of(short: 1_200, long: 86_400)
        return [(0.002, 600, 100), (-0.002, 600, 100), (0.0002, long, 20), (-0.0002, long, 20)]
    }()

    @Test(
        "a publisher's clock that drifts builds no latency, and no distance of sound from pictures", arguments: drifts)
    func drift(rate: Double, seconds: Double, latency: Double) throws {
        var random = SeededGenerator(announcedFor: "BypassClockTests.drift")
        var publisher = SimulatedPublisher(using: &random)
        publisher.rate = 1 + rate
        publisher.jitter = .milliseconds(10)
        var bypass = Bypass()
        var worst = (late: 0.0, skew: 0.0)
        for _ in 0..<Int(seconds / 10) {
            // Of each ten seconds the least late packet, and the last ones of both tracks.
            bypass.least = nil
            bypass.take(publisher.play(10))
            worst.late = max(worst.late, abs(bypass.least?.inMilliseconds ?? .infinity))
            let skew = (bypass.place[.video] ?? .zero) - (bypass.place[.audio] ?? .zero)
            worst.skew = max(worst.skew, abs(skew.inMilliseconds))
            try bypass.requireOrder("\(rate)")
            (bypass.video, bypass.audio) = (bypass.video.suffix(1), bypass.audio.suffix(1))
        }
        print("drift of \(rate * 1e6) ppm: \(worst.late) ms late, sound \(worst.skew) ms from pictures")
        #expect(worst.late < latency && worst.skew < 40)
    }
}
