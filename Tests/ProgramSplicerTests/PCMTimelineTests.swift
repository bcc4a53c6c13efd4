import Foundation
import ProgramSplicer
import Testing

@testable import EncodedMedia

@Suite("One source's sound on a mix's timeline")
struct PCMTimelineTests {
    /// Returns blocks whose samples are their own index, so that every shift is detected.
    private func ramp(_ range: Range<Int64>, channels: Int) -> [Float] {
        range.flatMap { index in (0..<channels).map { Float(index % 100_000) + Float($0) * 0.25 } }
    }

    private func read(_ timeline: PCMTimeline, _ range: Range<Int64>) -> [Float] {
        var sum = [Float](repeating: 0, count: range.count * timeline.channels)
        timeline.mix(range, into: &sum)
        return sum
    }

    @Test("Blocks on the grid land on frame boundaries", arguments: [8000, 32_000, 44_100, 48_000], [1, 2])
    func onGrid(rate: Int, channels: Int) {
        var timeline = PCMTimeline(sampleRate: rate, channels: channels, isHost: true)
        for frame in -3..<150 as Range<Int64> {
            timeline.append(
                at: .units(frame * 1024, rate: rate), ramp(frame * 1024..<(frame + 1) * 1024, channels: channels))
            if frame >= 0 {
                let range = frame * 1024..<(frame + 1) * 1024
                #expect(read(timeline, range) == ramp(range, channels: channels))
                timeline.discard(before: range.upperBound)
            }
        }
        #expect(timeline.disagreement.magnitude < 0.01)
    }

    @Test("Timestamps rounded to milliseconds leave no step, for a guest and a host", arguments: [false, true])
    func rounding(isHost: Bool) {
        var timeline = PCMTimeline(sampleRate: 44_100, channels: 1, isHost: isHost)
        // Rounding repeats after 441 blocks.
        for frame in 0..<450 as Range<Int64> {
            let time = MediaTime.milliseconds(MediaTime.units(frame * 1024, rate: 44_100).roundedMilliseconds)
            timeline.append(at: time, ramp(frame * 1024..<(frame + 1) * 1024, channels: 1))
            let range = frame * 1024..<(frame + 1) * 1024
            #expect(read(timeline, range) == ramp(range, channels: 1))
            timeline.discard(before: range.upperBound)
        }
    }

    @Test("A pause is silence, and what follows is placed by its timestamp")
    func pause() {
        var timeline = PCMTimeline(sampleRate: 1000, channels: 1)
        timeline.append(at: .zero, [1, 1, 1])
        timeline.append(at: .milliseconds(30), [2, 2])
        #expect(timeline.end == 32)
        #expect(read(timeline, 0..<34) == [1, 1, 1] + [Float](repeating: 0, count: 27) + [2, 2, 0, 0])
        // Going back replaces the earlier samples.
        timeline.append(at: .milliseconds(1), [3, 3])
        #expect(timeline.end == 3)
        #expect(read(timeline, 0..<5) == [1, 3, 3, 0, 0])
    }

    /// A guest's timestamps may be mapped anew while its sound is heard, so that it is placed at or before what is next.
    @Test("Sound that is placed again over held sound leaves no step", arguments: [-40, -22, -10, 300, 900])
    func placedAgain(offset: Int64) {
        let rate = 48_000
        func tone(_ range: Range<Int64>, phase: Double) -> [Float] {
            range.map { index -> Float in
                let angle = 2 * Double.pi * 660 * Double(index) / 48_000 + phase
                return Float(0.14 * sin(angle))
            }
        }
        var timeline = PCMTimeline(sampleRate: rate, channels: 1, edge: .milliseconds(5))
        timeline.append(at: .zero, tone(0..<4096, phase: 0))
        var heard = read(timeline, 0..<1024)
        timeline.discard(before: 1024)
        let begin = 1024 + offset
        timeline.append(at: .units(begin, rate: rate), tone(begin..<begin + 4096, phase: 2))
        for frame in 1..<4 as Range<Int64> {
            let range = frame * 1024..<(frame + 1) * 1024
            heard += read(timeline, range)
            timeline.discard(before: range.upperBound)
        }
        let steps = (1..<heard.count - 1).map { index -> Float in
            abs(heard[index + 1] - 2 * heard[index] + heard[index - 1])
        }
        // That of the tone itself is 0.001.
        #expect(steps.max() ?? 1 < 0.005, "\(steps.max() ?? 1)")
    }

    @Test("What comes too late is dropped, and the samples behind it keep their place")
    func late() {
        var timeline = PCMTimeline(sampleRate: 1000, channels: 2)
        timeline.discard(before: 100)
        timeline.append(at: .milliseconds(98), [1, 1, 2, 2, 3, 3, 4, 4])
        #expect(read(timeline, 98..<103) == [0, 0, 0, 0, 3, 3, 4, 4, 0, 0])
        timeline.append(at: .milliseconds(40), [9, 9])
        #expect(timeline.start == 100)
    }

    @Test("Nothing is kept beyond eight seconds ahead")
    func bounded() {
        var timeline = PCMTimeline(sampleRate: 1000, channels: 1)
        for second in 0..<100 { timeline.append(at: .milliseconds(second * 1000), [Float](repeating: 1, count: 1000)) }
        #expect(timeline.end == 8000)
    }

    @Test("A drifting guest is followed without a step; a drifting host is reported", arguments: [-200.0, 200])
    func drift(ppm: Double) {
        var guest = PCMTimeline(sampleRate: 48_000, channels: 1)
        var host = PCMTimeline(sampleRate: 48_000, channels: 1, isHost: true)
        var largest = 0.0
        // 5600 frames are two minutes.
        for frame in 0..<5600 {
            let time = MediaTime.seconds(Double(frame) * 1024 / 48_000 * (1 + ppm / 1e6))
            let block = [Float](repeating: 1, count: 1024)
            guest.append(at: time, block)
            if let end = guest.end {
                let ideal = (time.inSeconds * 48_000) + 1024
                largest = max(largest, abs(Double(end) - ideal))
                guest.discard(before: end - 4096)
            }
            if frame < 3000 { host.append(at: time, block) }
            if let end = host.end { host.discard(before: end - 4096) }
        }
        #expect(largest < 48 * 5, "more than 5 ms away: \(largest / 48) ms")
        let counted: Int64 = 3000 * 1024
        #expect(host.end == counted)
        #expect(host.disagreement * ppm > 0)
    }

    @Test("Clipping leaves what fits alone and never passes full scale")
    func softClip() {
        var samples: [Float] = [0, 0.5, -0.9, 1.0, -1.7, 4]
        Loudness.softClip(&samples)
        #expect(Array(samples[..<3]) == [0, 0.5, -0.9])
        #expect(samples[3...].allSatisfy { abs($0) < 1 && abs($0) > 0.9 })
        #expect(samples[4] < 0)
    }
}
