import Testing

@testable import HTTPInterface

struct WCSTurnsTests {
    @Test func fiveStreamsBeginAtOnceAndThenFivePerSecond() {
        let start: Int64 = 7_000_000_000
        var turns = WCSTurns(now: start)
        func taken(_ count: Int, after milliseconds: Int64) -> Int {
            (0..<count).count { _ in turns.take(now: start + milliseconds * 1_000_000) }
        }
        #expect(taken(7, after: 0) == 5)
        // Those that had to wait have taken no turn.
        #expect(taken(7, after: 199) == 0)
        #expect(taken(7, after: 200) == 1)
        #expect(taken(7, after: 1000) == 4)
        #expect(taken(7, after: 9000) == 5)
    }
}
