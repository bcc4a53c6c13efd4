import ProgramSplicer
import TestSupport
import Testing

@testable import EncodedMedia

@Suite("Choice of the frame that a mix shows")
struct FrameSamplerTests {
    /// Runs a source through a sampler with frames arriving `lateness` after their time, and returns per tick the index
    /// of the source frame shown (−1: none) and the delay after the tick's time until it could be composed.
    private func run(
        fps: Int, ticks: Int, isHost: Bool = false, lateness: MediaTime = .milliseconds(20), pts: [MediaTime]
    ) -> (shown: [Int], waits: [MediaTime], sampler: FrameSampler) {
        let interval = MediaTime.units(1, rate: fps)
        var sampler = FrameSampler(interval: interval, firstTick: .zero, isHost: isHost)
        var shown: [Int] = []
        var waits: [MediaTime] = []
        var next = 0
        for k in 0..<ticks {
            let tick = MediaTime.units(Int64(k), rate: fps)
            var now = tick
            while next < pts.count, pts[next] + lateness <= now {
                sampler.append(pts[next])
                next += 1
            }
            let deadline = tick + .milliseconds(120)
            var choice = sampler.choice(tick: tick)
            while case .pending = choice, next < pts.count, pts[next] + lateness <= deadline {
                now = max(now, pts[next] + lateness)
                sampler.append(pts[next])
                next += 1
                choice = sampler.choice(tick: tick)
            }
            let chosen: MediaTime? =
                switch choice {
                case .frame(let pts): pts
                case .pending(let newest): newest
                }
            if case .pending = choice { now = deadline }
            if let chosen { #expect(sampler.isNeeded(chosen)) }
            sampler.commit(tick: tick, shown: chosen)
            shown.append(chosen.flatMap { pts.firstIndex(of: $0) } ?? -1)
            waits.append(now - tick)
        }
        return (shown, waits, sampler)
    }

    private func steps(_ shown: some Collection<Int>) -> [Int] { zip(shown, shown.dropFirst()).map { $1 - $0 } }

    @Test("The next frame of a slow source is not waited for before it is due", arguments: [2, 3, 5], [false, true])
    func slow(fps: Int, isHost: Bool) {
        let pts = (0..<100).map { MediaTime.units(Int64($0), rate: fps) }
        let result = run(fps: 20, ticks: 400, isHost: isHost, lateness: .milliseconds(5), pts: pts)
        let perFrame = 20 / Double(fps)
        for (tick, wait) in result.waits.enumerated().dropFirst(200) {
            // Checks only ticks at which the frame may come a quarter of its interval early.
            let phase = Double(tick).truncatingRemainder(dividingBy: perFrame) / perFrame
            if phase > 0.2, phase < 0.65 { #expect(wait == .zero, "tick \(tick)") }
        }
    }

    @Test("Equal rates: every frame once, for any phase, with ±2 ms of noise", arguments: [10, 20, 25, 30, 60])
    func oneToOne(fps: Int) {
        for seed in 0..<40 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            let phase = Int64.random(in: 0..<1_000_000_000 / Int64(fps), using: &random)
            let pts = (0..<400).map { index in
                MediaTime.units(Int64(index) - 20, rate: fps)
                    + MediaTime(nanoseconds: phase + .random(in: -2_000_000...2_000_000, using: &random))
            }
            let result = run(fps: fps, ticks: 360, pts: pts)
            #expect(steps(result.shown).allSatisfy { $0 == 1 }, "seed \(seed) phase \(phase) \(result.shown)")
            // The sampler never waits for a future frame longer than a tenth of an interval, noise and the frame's own
            // lateness.
            let limit = MediaTime.units(1, rate: fps) / 10 + .milliseconds(24)
            #expect(result.waits.allSatisfy { $0 <= limit }, "seed \(seed)")
        }
    }

    @Test("The host's frame k is shown at tick k", arguments: [20, 30])
    func hostOnGrid(fps: Int) {
        for seed in 0..<20 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            let pts = (0..<300).map { index in
                MediaTime.units(Int64(index) - 10, rate: fps)
                    + MediaTime(nanoseconds: .random(in: -2_000_000...2_000_000, using: &random))
            }
            let result = run(fps: fps, ticks: 250, isHost: true, pts: pts)
            #expect(result.shown == Array(10..<260), "seed \(seed)")
        }
    }

    @Test("Half the canvas's rate: every frame exactly twice")
    func halfRate() {
        for phase in stride(from: 0 as Int64, to: 100, by: 7) {
            var random = SeededGenerator(seed: UInt64(phase))
            let pts = (0..<100).map { index in
                MediaTime.milliseconds(Int64(index) * 100 + phase - 500)
                    + MediaTime(nanoseconds: .random(in: -2_000_000...2_000_000, using: &random))
            }
            let shown = run(fps: 20, ticks: 160, pts: pts).shown.dropFirst(2)
            #expect(Set(steps(shown)) == [0, 1], "phase \(phase)")
            #expect(!zip(steps(shown), steps(shown).dropFirst()).contains { $0 == $1 }, "phase \(phase) \(shown)")
        }
    }

    @Test("30 on 20: order kept, the newest that is not younger than the tick")
    func otherRate() {
        let pts = (0..<300).map { MediaTime.units(Int64($0) - 30, rate: 30) + .milliseconds(7) }
        let result = run(fps: 20, ticks: 150, pts: pts)
        #expect(result.sampler.lock == 0)
        for (k, index) in result.shown.enumerated().dropFirst(8) {
            let tick = MediaTime.units(Int64(k), rate: 20)
            #expect(pts[index] <= tick + .milliseconds(5) && pts[index] > tick - .milliseconds(34))
        }
    }

    @Test("A source 300 ppm off repeats or skips only when its phase has left the range", arguments: [-300.0, 300])
    func drift(ppm: Double) {
        let pts = (0..<12000).map { MediaTime.seconds(Double($0) * 0.05 * (1 + ppm / 1e6) - 1) }
        let shown = run(fps: 20, ticks: 11000, pts: pts).shown
        // 165 ms in 550 s are 3.3 intervals.
        let slips = steps(shown).count { $0 != 1 }
        #expect((2...4).contains(slips))
    }

    @Test("A lost frame repeats the one before it, and the lock holds")
    func lostFrame() {
        var pts = (0..<200).map { MediaTime.milliseconds($0 * 50 - 500 + 13) }
        pts.remove(at: 60)
        let result = run(fps: 20, ticks: 150, pts: pts)
        #expect(steps(result.shown).count { $0 == 0 } == 1)
        #expect(steps(result.shown).allSatisfy { $0 <= 1 })
        #expect(result.sampler.lock == 1)
    }

    @Test("Timestamps that go back start the source anew")
    func wentBack() {
        let pts =
            (0..<40).map { MediaTime.milliseconds($0 * 50) } + (0..<30).map { MediaTime.milliseconds($0 * 50 + 1020) }
        var sampler = FrameSampler(interval: .milliseconds(50), firstTick: .zero, isHost: false)
        for time in pts { sampler.append(time) }
        #expect(sampler.frames.first == .milliseconds(1020))
    }

    @Test("A silent source stays on its last frame and holds little")
    func bounded() {
        var sampler = FrameSampler(interval: .milliseconds(50), firstTick: .zero, isHost: false)
        #expect(sampler.choice(tick: .zero) == .pending(newest: nil))
        for index in 0..<1000 { sampler.append(.milliseconds(index * 50)) }
        #expect(sampler.frames.count == FrameSampler.capacity)
        let last = MediaTime.milliseconds(999 * 50)
        #expect(sampler.choice(tick: last) == .frame(last))
        sampler.commit(tick: last, shown: last)
        #expect(sampler.choice(tick: .seconds(100)) == .pending(newest: last))
        #expect(sampler.isNeeded(last))
    }
}
