import TestSupport
import Testing

@testable import EncodedMedia
@testable import ProgramSplicer

@Suite struct SourceClockTests {
    private func run(
        _ clock: inout SourceClock, seconds: Double, from start: Double = 0, rate: Double = 1, isOnAir: Bool,
        lateness: (Int) -> Double = { _ in 0 }
    ) -> Int {
        var remaps = 0
        for index in 0..<Int(seconds * 50) {
            let media = start + Double(index) * 0.02
            let arrival = 100 + media * rate + lateness(index)
            if clock.observe(.video, dts: .seconds(media), arrival: .seconds(arrival), as: .init(isOnAir: isOnAir))
                == .mappedAnew
            {
                remaps += 1
            }
        }
        return remaps
    }

    @Test("a packet is due when the earliest ones arrive")
    func firstPacket() {
        var clock = SourceClock()
        _ = run(&clock, seconds: 1, isOnAir: false) { $0 == 0 ? 0.08 : 0.01 }
        #expect((clock.map(.zero, of: .video) - .seconds(100.01)).magnitude < .milliseconds(1))
        #expect(clock.isSettled(at: .seconds(101)))
    }

    @Test("beside a host who comes before or after their time, others do so too", arguments: [-0.06, -0.02, 0.04])
    func reference(hostLateness: Double) {
        var host = SourceClock()
        var guest = SourceClock()
        // The host is on air from its first packet, which came too late or too early. From then on it only slews.
        _ = run(&host, seconds: 4, isOnAir: true) { $0 == 0 ? -hostLateness : 0 }
        for index in 200..<400 {
            let media = Double(index) * 0.02
            let arrival = MediaTime.seconds(100 + media)
            _ = host.observe(.video, dts: .seconds(media), arrival: arrival, as: .init(isOnAir: true))
            _ = guest.observe(
                .video, dts: .seconds(media - 3), arrival: arrival,
                as: .init(isOnAir: index > 210, reference: host.leastLateness ?? .zero))
        }
        let apart = host.map(.seconds(8), of: .video) - guest.map(.seconds(5), of: .video)
        // The host slews, faster than the guest, and its known offset is up to a window old.
        #expect(apart.magnitude < .milliseconds(8), "\(apart)")
        #expect((host.map(.seconds(8), of: .video) - .seconds(108)).magnitude > .milliseconds(15))
    }

    @Test("a burst of a cached GOP does not put the source ahead")
    func burst() {
        var clock = SourceClock()
        for index in 0..<100 {
            let media = MediaTime.seconds(Double(index) * 0.02)
            _ = clock.observe(
                .video, dts: media, arrival: .seconds(100 + Double(index) * 0.0001), as: .init(isOnAir: false))
        }
        #expect(!clock.isSettled(at: .seconds(100.011)))
        #expect((clock.map(.seconds(2), of: .video) - .seconds(100.03)).magnitude < .milliseconds(20))
    }

    @Test("±200 ppm over 24 hours build no latency", arguments: [0.9998, 1.0002])
    func drift(rate: Double) {
        var clock = SourceClock()
        _ = run(&clock, seconds: 1, isOnAir: false)
        var worst = 0.0
        for second in 1..<86_400 {
            let media = Double(second)
            let arrival = 100 + media * rate
            _ = clock.observe(
                .video, dts: .seconds(media), arrival: .seconds(arrival), as: .init(isOnAir: true, isCopied: true))
            if second > 60 { worst = max(worst, abs(clock.map(.seconds(media), of: .video).inSeconds - arrival)) }
        }
        // Observed once a second here, so the window is two packets; a real source has a hundred.
        #expect(worst < 0.005, "off by \(worst * 1000) ms")
    }

    @Test("on air the timeline never steps")
    func slew() {
        var clock = SourceClock()
        _ = run(&clock, seconds: 1, isOnAir: false)
        var last = clock.offset ?? .zero
        var generator = SeededGenerator(seed: 3)
        for index in 50..<5000 {
            let media = Double(index) * 0.02
            let jitter = Double.random(in: 0...0.03, using: &generator)
            _ = clock.observe(
                .video, dts: .seconds(media), arrival: .seconds(100.2 + media + jitter), as: .init(isOnAir: true))
            let offset = clock.offset ?? .zero
            #expect((offset - last).magnitude <= .milliseconds(0) + MediaTime(nanoseconds: 200_000))
            last = offset
        }
    }

    @Test("unless it slews, the offset is whole milliseconds", arguments: [1, 1.0001, 0.9999])
    func wholeMilliseconds(rate: Double) {
        var clock = SourceClock()
        var generator = SeededGenerator(announcedFor: "wholeMilliseconds")
        var resting = 0
        var last = MediaTime.zero
        for index in 0..<10_000 {
            let media = Double(index) * 0.02
            let arrival = 100 + media * rate + Double.random(in: 0...0.002, using: &generator)
            _ = clock.observe(.video, dts: .seconds(media), arrival: .seconds(arrival), as: .init(isOnAir: index > 50))
            let offset = clock.offset ?? .zero
            if offset == last {
                #expect(offset == offset.rounded, "packet \(index)")
                resting += 1
            }
            last = offset
        }
        #expect(resting > 5000)
    }

    @Test("a timestamp jump maps the source anew", arguments: [-50.0, 50.0])
    func jump(by seconds: Double) {
        var clock = SourceClock()
        _ = run(&clock, seconds: 1, isOnAir: true)
        let remapped = clock.observe(
            .video, dts: .seconds(1 + seconds), arrival: .seconds(101), as: .init(isOnAir: true))
        #expect(remapped == .mappedAnew)
        #expect(clock.map(.seconds(1 + seconds), of: .video) == .seconds(101))
    }

    @Test("after a pause, the burst that catches up does not put the source ahead, also on air")
    func pauseAndBurst() {
        var clock = SourceClock()
        _ = run(&clock, seconds: 1, isOnAir: true)
        // Four seconds of silence, then everything sent since at once, then live again.
        for index in 0..<300 {
            let media = 1 + Double(index) * 0.02
            let arrival = max(105 + Double(index) * 0.0005, 100 + media)
            _ = clock.observe(.video, dts: .seconds(media), arrival: .seconds(arrival), as: .init(isOnAir: true))
        }
        #expect((clock.map(.seconds(7), of: .video) - .seconds(107)).magnitude < .milliseconds(20))
    }

    @Test("in a bypass neither a first packet that was held up nor a pause makes the timestamps step back")
    func copied() {
        var clock = SourceClock()
        var last: MediaTime?
        for index in 0..<500 {
            // The first packets come 120 ms late and then in time; a second of silence follows later.
            let lateness = index < 4 ? 0.12 : index == 200 ? 1.2 : 0
            let media = MediaTime.seconds(Double(index) * 0.02)
            let arrival = MediaTime.seconds(100 + Double(index) * 0.02 + lateness)
            _ = clock.observe(.video, dts: media, arrival: arrival, as: .init(isOnAir: true, isCopied: true))
            let mapped = clock.map(media, of: .video)
            if let last { #expect(mapped - last >= .milliseconds(19), "packet \(index)") }
            last = mapped
        }
    }

    @Test("a break maps the next packet anew, on air too, and only that one")
    func announcedBreak() {
        var clock = SourceClock()
        _ = run(&clock, seconds: 1, isOnAir: true)
        clock.breakTimeline()
        #expect(
            clock.observe(
                .video, dts: .seconds(1.02), arrival: .seconds(101.5), as: .init(isOnAir: true, isCopied: true))
                == .mappedAnew)
        #expect(clock.map(.seconds(1.02), of: .video) == .seconds(101.5))
        #expect(
            clock.observe(
                .video, dts: .seconds(1.04), arrival: .seconds(101.52), as: .init(isOnAir: true, isCopied: true))
                == .steady)
    }

    @Test("a discontinuity of a source reaches its timeline with the next frame")
    func discontinuityOfASource() {
        var timeline = SourceTimeline()
        let configuration = CodecConfiguration(track: .audio, bytes: [0x11, 0x90])
        func accept(_ item: MediaItem, at seconds: Double) -> [SourceTimeline.Event] {
            timeline.accept(item, arrival: .seconds(seconds), as: .init(isOnAir: true, isCopied: true))
        }
        func sound(_ seconds: Double) -> MediaItem {
            .frame(EncodedFrame(track: .audio, pts: .seconds(seconds), dts: .seconds(seconds), payload: [1]))
        }
        #expect(accept(.configuration(configuration), at: 100) == [.configuration(configuration)])
        #expect(accept(sound(0), at: 100).count == 1)
        #expect(accept(.metadata([1]), at: 100).isEmpty && accept(.discontinuity, at: 100.01).isEmpty)
        #expect(accept(sound(0.02), at: 100.5).first == .discontinuity)
        #expect(accept(sound(0.04), at: 100.52).count == 1)
    }

    @Test("a network stall is no jump: what comes late keeps its place")
    func shortStall() {
        var clock = SourceClock()
        _ = run(&clock, seconds: 1, isOnAir: true)
        let remapped = clock.observe(.video, dts: .seconds(1), arrival: .seconds(101.5), as: .init(isOnAir: true))
        #expect(remapped == .steady)
        #expect(clock.map(.seconds(1), of: .video) == .seconds(101))
    }
}

@Suite struct AudioSampleClockTests {
    @Test("rounding to milliseconds disappears", arguments: [44100, 48000, 32000])
    func rounding(rate: Int) {
        var clock = AudioSampleClock(sampleRate: rate)
        var last: MediaTime?
        for index in 0..<20_000 {
            let rounded = MediaTime.units(Int64(index) * 1024, rate: rate).rounded
            let exact = clock.next(rounded: rounded)
            if let last {
                #expect((exact - last - clock.frameDuration).magnitude < MediaTime(nanoseconds: 60_000))
            }
            #expect((exact - rounded).magnitude < .milliseconds(2))
            last = exact
        }
    }

    @Test("lost frames leave a hole of whole frames")
    func loss() {
        var clock = AudioSampleClock(sampleRate: 48000)
        _ = clock.next(rounded: .zero)
        let after = clock.next(rounded: .milliseconds(85))
        #expect(after == .units(4 * 1024, rate: 48000))
    }

    @Test("a jump begins a new base")
    func jump() {
        var clock = AudioSampleClock(sampleRate: 48000)
        _ = clock.next(rounded: .milliseconds(5000))
        let after = clock.next(rounded: .milliseconds(1234))
        #expect(after == .milliseconds(1234))
    }

    @Test("a sound card that drifts is followed")
    func drift() {
        var clock = AudioSampleClock(sampleRate: 48000)
        var worst = 0.0
        for index in 0..<200_000 {
            let time = MediaTime.seconds(Double(index) * 1024 / 48000 * 1.0002).rounded
            let exact = clock.next(rounded: time)
            if index > 10_000 { worst = max(worst, abs((exact - time).inMilliseconds)) }
        }
        #expect(worst < 4, "off by \(worst) ms")
    }
}
