import ProgramSplicer
import Testing

@testable import EncodedMedia

@Suite("Edges of one source's sound in a mix")
struct PCMEdgeTests {
    private static let frame: Int64 = 1024
    private static let edge = MediaTime.milliseconds(5)

    private func timeline(start: Int64 = 0) -> PCMTimeline {
        PCMTimeline(sampleRate: 48_000, channels: 1, start: start, edge: Self.edge)
    }

    private func time(_ sample: Int64) -> MediaTime { .units(sample, rate: 48_000) }

    private func block(_ count: Int64) -> [Float] { [Float](repeating: 1, count: Int(count)) }

    /// Mixes frames of 1024 samples in succession, like a mixer. `feed` is called before each one.
    private func mixed(
        _ timeline: inout PCMTimeline, frames: Range<Int64>, feed: (Int64, inout PCMTimeline) -> Void
    ) -> [Float] {
        var sound: [Float] = []
        for number in frames {
            feed(number, &timeline)
            let range = number * Self.frame..<(number + 1) * Self.frame
            var sum = [Float](repeating: 0, count: Int(Self.frame))
            timeline.mix(range, into: &sum)
            timeline.discard(before: range.upperBound)
            sound += sum
        }
        return sound
    }

    private func largestStep(_ sound: [Float]) -> Float {
        zip(sound, sound.dropFirst()).map { abs($1 - $0) }.max() ?? 0
    }

    @Test("Sound from the mix's first sample on passes bit for bit")
    func fromTheFirstSample() {
        var timeline = timeline()
        let sound = mixed(&timeline, frames: 0..<4) { number, timeline in
            timeline.append(at: time(number * Self.frame), block(Self.frame))
        }
        #expect(sound.allSatisfy { $0 == 1 })
    }

    @Test("Sound that begins later begins without a step", arguments: [-700, 0, 300] as [Int64])
    func beginning(offset: Int64) {
        // The remainder of sound that begins before the due frame is played.
        var timeline = timeline()
        let sound = mixed(&timeline, frames: 0..<6) { number, timeline in
            if number == 2 { timeline.append(at: time(number * Self.frame + offset), block(Self.frame)) }
            if number >= 2 { timeline.append(at: time((number + 1) * Self.frame + offset), block(Self.frame)) }
        }
        #expect(largestStep(sound) < 0.01)
        #expect(sound[Int(4 * Self.frame)] == 1)
    }

    @Test("A source that joins a mix that runs begins without a step")
    func joining() {
        var timeline = timeline(start: 7 * Self.frame)
        let sound = mixed(&timeline, frames: 7..<10) { number, timeline in
            timeline.append(at: time(number * Self.frame), block(Self.frame))
        }
        #expect(largestStep([0] + sound) < 0.01)
        #expect(sound.last == 1)
    }

    /// Corners of the loudness are clicks, too, if a loud high tone is faded.
    @Test func fadesHaveNoCorners() {
        var timeline = timeline(start: Self.frame)
        var sound = mixed(&timeline, frames: 1..<6) { number, timeline in
            if number == 1 { timeline.append(at: time(Self.frame), block(3000)) }
        }
        sound = [0, 0] + sound
        let slopes = zip(sound, sound.dropFirst()).map { $1 - $0 }
        // A linear fade over 240 samples has 0.004.
        #expect(largestStep(slopes) < 0.0002)
        #expect(sound[1000] == 1 && sound.last == 0)
    }

    @Test("Sound that breaks off, and what is placed anew behind a hole, has no step")
    func hole() {
        var timeline = timeline()
        timeline.append(at: .zero, block(1500))
        var sound = mixed(&timeline, frames: 0..<3) { _, _ in }
        #expect(sound[1000] == 1 && sound[1499] < 0.01)
        #expect(largestStep(sound) < 0.01)
        // The gap is known before it is reached.
        timeline = self.timeline()
        timeline.append(at: .zero, block(1500))
        timeline.append(at: time(3000), block(3000))
        sound = mixed(&timeline, frames: 0..<6) { _, _ in }
        #expect(sound[1000] == 1 && sound[2500] == 0 && sound[4000] == 1)
        #expect(largestStep(sound) < 0.01)
    }

    @Test("A block that goes back joins without a full step")
    func goingBack() {
        var timeline = timeline()
        timeline.append(at: .zero, block(4000))
        timeline.append(at: time(2000), block(4000))
        let sound = mixed(&timeline, frames: 0..<5) { _, _ in }
        #expect(largestStep(sound) < 0.01)
    }

    @Test("Fades of short blocks stay inside them")
    func shortBlocks() {
        var timeline = timeline()
        for number in 0..<40 as Range<Int64> {
            timeline.append(at: time(number * 2000), block(number % 7))
            let range = number * 2000..<(number + 1) * 2000
            var sum = [Float](repeating: 0, count: 2000)
            timeline.mix(range, into: &sum)
            timeline.discard(before: range.upperBound)
            #expect(sum.allSatisfy { $0 >= 0 && $0 <= 1 })
        }
    }
}
