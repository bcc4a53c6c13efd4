import Testing

@testable import ProgramRelay

@Suite struct ReadingWatchTests {
    /// Returns a watch that has seen acknowledgements every `distance` bytes and ns.
    private static func watch(_ count: Int, every distance: Int64) -> ReadingWatch {
        var watch = ReadingWatch()
        for index in 1...Int64(count) { watch.confirmed(index * distance, at: index * distance) }
        return watch
    }

    @Test func whoAcknowledgesAndStopsIsNoticed() {
        let watch = Self.watch(5, every: 100_000)
        let due = 600_000 + ReadingWatch.margin
        #expect(watch.silentSince(due, now: .max) == nil)
        #expect(watch.silentSince(due + 1, now: .max) == 500_000)
    }

    @Test func whoNeverDidOrHardlyEverIsNotJudged() {
        #expect(ReadingWatch().silentSince(.max, now: .max) == nil)
        #expect(Self.watch(ReadingWatch.proof - 1, every: 1000).silentSince(1 << 40, now: .max) == nil)
        #expect(Self.watch(ReadingWatch.proof, every: 1000).silentSince(1 << 40, now: .max) != nil)
    }

    /// Servers that acknowledge a few megabytes at once are silent for a long time, and lag by the data in flight.
    @Test func aServerThatSaysLittleGetsTime() {
        let watch = Self.watch(5, every: 13_000_000_000)
        let taken: Int64 = 90_000_000_000
        #expect(watch.silentSince(taken, now: 65_000_000_000 + 39_000_000_000) == nil)
        #expect(watch.silentSince(taken, now: 65_000_000_000 + 39_000_000_001) == 65_000_000_000)
    }

    /// The longest distance counts, not the last one.
    @Test func aServerThatIsIrregularGetsTime() {
        var watch = Self.watch(3, every: 1000)
        watch.confirmed(1_003_000, at: 9_000)
        watch.confirmed(1_004_000, at: 10_000)
        #expect(watch.silentSince(1_004_000 + 1_000_000 + ReadingWatch.margin, now: .max) == nil)
        #expect(watch.silentSince(1_004_000 + 1_000_001 + ReadingWatch.margin, now: .max) == 10_000)
    }

    /// What the server has said since the previous check may not have been read.
    @Test func aCheckJudgesWhatThePreviousOneSaw() {
        var watch = Self.watch(5, every: 100_000)
        let taken = 600_001 + ReadingWatch.margin
        #expect(watch.check(taken, now: 900_000) == nil && watch.silentSince(taken, now: 900_000) == 500_000)
        var other = watch
        #expect(other.check(taken, now: 910_000) == 500_000)
        watch.confirmed(600_000, at: 905_000)
        #expect(watch.check(taken, now: 910_000) == nil)
    }
}
