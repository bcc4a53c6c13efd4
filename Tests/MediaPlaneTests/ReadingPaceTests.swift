import Testing

@testable import RTMP

@Suite struct ReadingPaceTests {
    private final class Program {}

    private static let quantum: Int64 = 8_000_000
    private static let second: Int64 = 1_000_000_000

    /// Returns a pace after some seconds with so many looks a second, each of which found one socket ready.
    private static func pace(_ events: Int, quantum: Int64 = quantum, seconds: Int = 3) -> ReadingPace {
        var pace = ReadingPace(quantum: quantum)
        advance(&pace, from: 0, events: events, seconds: seconds)
        return pace
    }

    private static func advance(_ pace: inout ReadingPace, from second: Int, events: Int, seconds: Int) {
        for index in 0...events * seconds {
            pace.looked(1, at: Int64(second) * Self.second + Int64(index) * Self.second / Int64(events))
        }
    }

    @Test func fewPacketsAreReadAsTheyArrive() {
        // A room has about 60 events a second: it would be woken once more for each.
        #expect(Self.pace(60).rest(at: 3 * Self.second) == 0)
        #expect(Self.pace(240).rest(at: 3 * Self.second) == 0)
        #expect(ReadingPace().rest(at: 0) == 0)
    }

    @Test func packetsOfManyProgramsCollectForAQuantumAtMost() {
        let pace = Self.pace(480)
        let read = 3 * Self.second
        #expect(pace.rest(at: read) == Self.quantum)
        #expect(pace.rest(at: read + 3_000_000) == 5_000_000)
        #expect(pace.rest(at: read + Self.quantum) == 0 && pace.rest(at: read + Self.second) == 0)
        // However the clock behaves.
        #expect(pace.rest(at: 0) == Self.quantum)
    }

    @Test func aLoopThatIsNotAskedToWaitNeverDoes() {
        let pace = Self.pace(5_000, quantum: 0)
        #expect(!pace.isOn && pace.rest(at: 3 * Self.second) == 0)
    }

    /// Otherwise a loop without packets would wake every quantum.
    @Test func aReadThatFoundNothingIsFollowedByAUsualWait() {
        var pace = Self.pace(480)
        pace.looked(0, at: 3 * Self.second + Self.quantum)
        #expect(pace.rest(at: 3 * Self.second + Self.quantum) == 0)
        pace.looked(1, at: 3 * Self.second + 5 * Self.quantum)
        #expect(pace.rest(at: 3 * Self.second + 5 * Self.quantum) == Self.quantum)
    }

    @Test func nothingIsDelayedWhileAProgramIsRestless() {
        var pace = Self.pace(480)
        let (one, other) = (Program(), Program())
        pace.setCalm(false, ObjectIdentifier(one))
        pace.setCalm(false, ObjectIdentifier(other))
        pace.setCalm(false, ObjectIdentifier(one))
        pace.setCalm(true, ObjectIdentifier(one))
        #expect(pace.rest(at: 3 * Self.second) == 0)
        pace.setCalm(true, ObjectIdentifier(other))
        #expect(pace.rest(at: 3 * Self.second) == Self.quantum)
        withExtendedLifetime((one, other)) {}
    }

    /// Packets that are read together are fewer events, which must not end the quanta.
    @Test func quantaEndWhenProgramsEnd() {
        var pace = Self.pace(480)
        Self.advance(&pace, from: 3, events: 240, seconds: 3)
        #expect(pace.isWorthwhile)
        Self.advance(&pace, from: 6, events: 150, seconds: 3)
        #expect(!pace.isWorthwhile)
        Self.advance(&pace, from: 9, events: 240, seconds: 3)
        #expect(!pace.isWorthwhile)
    }
}
