import TestSupport
import Testing

@testable import RTMP

@Suite struct TLSProgressTests {
    @Test func aWriteCountsWhenItsLastByteHasArrived() {
        var progress = TLSProgress()
        // After 100 bytes of handshake.
        progress.wrote(10, endingAt: 132)
        progress.wrote(5, endingAt: 159)
        #expect(progress.written == 15 && progress.arrived == 0)
        let table: [(Int64, Int64)] = [(0, 0), (131, 0), (132, 10), (158, 10), (159, 15), (200, 15)]
        for (ciphertext, plaintext) in table {
            #expect(progress.plaintext(within: ciphertext) == plaintext)
            progress.confirm(ciphertext)
            #expect(progress.arrived == plaintext)
        }
        // Counters never decrease.
        progress.confirm(0)
        #expect(progress.arrived == 15 && progress.plaintext(within: 0) == 15)
    }

    @Test func aGoodbyeHoldsTheLastWriteBack() {
        var progress = TLSProgress()
        progress.wrote(10, endingAt: 32)
        progress.extend(to: 56)
        progress.confirm(32)
        #expect(progress.arrived == 0)
        progress.confirm(56)
        #expect(progress.arrived == 10)
        // There is nothing left to hold back.
        progress.extend(to: 80)
        #expect(progress.arrived == 10)
    }

    /// Compares the counters with a list of all writes.
    @Test func nothingIsLostOfManyWrites() {
        var random = SeededGenerator(announcedFor: "TLSProgressTests.nothingIsLostOfManyWrites")
        var progress = TLSProgress()
        var writes: [(ciphertext: Int64, plaintext: Int64)] = [(0, 0)]
        var confirmed: Int64 = 0
        for _ in 0..<5000 {
            let last = writes[writes.count - 1]
            if Int.random(in: 0..<3, using: &random) > 0 {
                let count = Int64.random(in: 1...1000, using: &random)
                let next = (last.ciphertext + count + .random(in: 0...50, using: &random), last.plaintext + count)
                writes.append(next)
                progress.wrote(Int(count), endingAt: next.0)
            } else {
                confirmed = .random(in: confirmed...max(confirmed, last.ciphertext), using: &random)
                progress.confirm(confirmed)
            }
            let place = Int64.random(in: confirmed...max(confirmed, last.ciphertext + 10), using: &random)
            #expect(progress.arrived == writes.last { $0.ciphertext <= confirmed }?.plaintext)
            #expect(progress.plaintext(within: place) == writes.last { $0.ciphertext <= place }?.plaintext)
        }
    }
}
