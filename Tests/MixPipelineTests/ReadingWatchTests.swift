import Testing

@testable import MixPipeline

@Suite struct ReadingWatchTests {
    /// Acknowledgements every `distance` bytes and ns.
    private static func watch(_ count: Int, every distance: Int64) -> ReadingWatch {
        var watch = ReadingWatch()
        for index in 1...Int64(count) { watch.confirmed(index * distance, at: index * distance) }
        return watch
    }

    @Test func whoAcknowledgesAndStopsIsNoticed() {
        let watch = Self.watch(5, every: 100_000)
        let due = 500_000 + 2 * 100_000 + ReadingWatch.margin
        #expect(watch.silentSince(due) == nil)
        #expect(watch.silentSince(due + 1) == 500_000)
    }

    @Test func whoNeverDidOrHardlyEverIsNotJudged() {
        #expect(ReadingWatch().silentSince(.max) == nil)
        #expect(Self.watch(ReadingWatch.proof - 1, every: 1000).silentSince(1 << 40) == nil)
        #expect(Self.watch(ReadingWatch.proof, every: 1000).silentSince(1 << 40) != nil)
    }

    /// The longest distance counts, not the last one.
    @Test func aServerThatIsIrregularGetsTime() {
        var watch = Self.watch(3, every: 1000)
        watch.confirmed(1_003_000, at: 9)
        watch.confirmed(1_004_000, at: 10)
        #expect(watch.silentSince(1_004_000 + 2_000_000 + ReadingWatch.margin) == nil)
        #expect(watch.silentSince(1_004_000 + 2_000_001 + ReadingWatch.margin) == 10)
    }
}
