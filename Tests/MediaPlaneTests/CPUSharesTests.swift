import Testing

@testable import ProgramRelay

@Suite struct CPUSharesTests {
    @Test func aRelayAloneHasUsedEverything() {
        let shares = CPUShares()
        let share = shares.join(process: 0.2)
        shares.divide(1)
        #expect(share.seconds == 1)
        share.handled += 5
        shares.divide(3)
        #expect(share.seconds == 3)
    }

    @Test func relaysAreChargedByWhatTheyHandle() {
        let shares = CPUShares()
        let first = shares.join(process: 0)
        let second = shares.join(process: 1)
        #expect(first.seconds == 1 && second.seconds == 0)
        first.handled += 30
        second.handled += 10
        shares.divide(5)
        #expect(first.seconds == 4 && second.seconds == 1)
        // No source has handled any frames.
        shares.divide(6)
        #expect(first.seconds == 4.5 && second.seconds == 1.5)
        // Every part is divided once.
        shares.divide(6)
        #expect(first.seconds + second.seconds == 6)
    }

    @Test func whoEndsIsChargedNoLonger() {
        let shares = CPUShares()
        let (first, second) = (shares.join(process: 0), shares.join(process: 0))
        second.handled += 1
        shares.leave(first, process: 2)
        #expect(first.seconds == 0 && second.seconds == 2)
        shares.divide(7)
        #expect(first.seconds == 0 && second.seconds == 7)
    }
}
