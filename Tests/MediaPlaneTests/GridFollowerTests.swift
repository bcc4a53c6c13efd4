import ProgramSplicer
import TestSupport
import Testing
import MediaFormats

@testable import EncodedMedia
@testable import ProgramMixer

@Suite("A mix's grids follow their host")
struct GridFollowerTests {
    private let interval = MediaTime.milliseconds(50)

    @Test("One frame a tick of a host whose clock is off, and still otherwise", arguments: [-300.0, 0, 50, 300])
    func genlock(ppm: Double) {
        var sampler = FrameSampler(interval: interval, firstTick: .zero, isHost: true)
        var grid = GridFollower.video
        var worst = MediaTime.zero
        var last = MediaTime(nanoseconds: .min)
        // Half an hour, timestamps in whole milliseconds.
        for k in 0..<36_000 as Range<Int64> {
            let exact = MediaTime.seconds(Double(k) * 0.05 * (1 + ppm / 1e6))
            let pts = exact.rounded
            sampler.append(pts)
            let tick = grid.offset + interval * k
            #expect(sampler.choice(tick: tick) == .frame(pts))
            sampler.commit(tick: tick, shown: pts)
            sampler.noteGridMoved(by: grid.follow(sampler.wander))
            worst = max(worst, (tick - exact).magnitude)
            #expect(tick > last)
            last = tick
        }
        #expect(worst < MediaTime(nanoseconds: 1_500_000), "\(worst)")
        if ppm == 0 { #expect(grid.offset == .zero) }
    }

    /// A publisher whose crystal is off, or whose first packets were late, is corrected gradually once on air in a mix.
    @Test(
        "However its clock is learnt and drifts, its sound stays with its pictures",
        arguments: [-300.0, -20, 0, 20, 300], [0, 0.004, 0.02])
    func lips(ppm: Double, early: Double) {
        var random = SeededGenerator(announcedFor: "lips")
        var clock = SourceClock()
        var sampler = FrameSampler(interval: interval, firstTick: .zero, isHost: true)
        var sound = PCMTimeline(sampleRate: 48_000, channels: 1, isHost: true)
        var (ticks, blocks) = (GridFollower.video, GridFollower.sound)
        var origin: MediaTime?
        var (pictureCount, soundCount) = (Int64(0), Int64(0))
        var (pictureError, soundError): (MediaTime?, MediaTime?)
        var worst = MediaTime.zero
        // Ten minutes of packets as sent by a publisher, in whole milliseconds of its own clock.
        for _ in 0..<(600 * 20 + 600 * 48_000 / 1024) {
            let picture = interval * pictureCount
            let block = MediaTime.units(soundCount * 1024, rate: 48_000)
            let isPicture = picture <= block
            let time = isPicture ? picture : block
            let lateness = time < .seconds(1) ? early : 0
            let jitter = Double.random(in: 0...0.003, using: &random)
            let arrival = MediaTime.seconds(10 + time.inSeconds * (1 + ppm / 1e6) + jitter + lateness)
            _ = clock.observe(.video, dts: time.rounded, arrival: arrival, as: .init(isOnAir: time >= .seconds(1)))
            guard time >= .seconds(1) else {
                if isPicture { pictureCount += 1 } else { soundCount += 1 }
                continue
            }
            // The mix begins with the first picture after one second; sound keeps its exact times.
            let start = origin ?? clock.map(time.rounded, of: .video)
            if origin == nil {
                origin = start
                sampler = FrameSampler(interval: interval, firstTick: start, isHost: true)
            }
            if isPicture {
                let pts = clock.map(time.rounded, of: .video)
                sampler.append(pts)
                let tick = start + ticks.offset + interval * (pictureCount - 20)
                sampler.commit(tick: tick, shown: pts)
                sampler.noteGridMoved(by: ticks.follow(sampler.wander))
                // The time is rounded, as a viewer receives it.
                pictureError = tick.rounded - time
                pictureCount += 1
            } else {
                let exact = clock.map(time, of: .video)
                sound.append(at: exact - start - blocks.offset, [Float](repeating: 0, count: 1024))
                let heard = start + blocks.offset + .units((sound.end ?? 0) - 1024, rate: 48_000)
                sound.noteGridMoved(by: blocks.follow(.seconds(sound.disagreement / 48_000)))
                sound.discard(before: (sound.end ?? 0) - 2048)
                soundError = heard - time
                soundCount += 1
            }
            if let pictureError, let soundError { worst = max(worst, (soundError - pictureError).magnitude) }
        }
        #expect(worst < MediaTime(nanoseconds: 750_000), "\(worst)")
    }
}
