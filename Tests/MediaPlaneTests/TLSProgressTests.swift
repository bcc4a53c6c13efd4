import TestSupport
import Testing

@testable import RTMP

@Suite struct TLSLedgerTests {
    @Test func aWriteCountsWhenItsLastByteHasArrived() {
        var ledger = TLSLedger()
        // 100 bytes of handshake before.
        ledger.wrote(10, endingAt: 132)
        ledger.wrote(5, endingAt: 159)
        #expect(ledger.written == 15 && ledger.arrived == 0)
        let table: [(Int64, Int64)] = [(0, 0), (131, 0), (132, 10), (158, 10), (159, 15), (200, 15)]
        for (ciphertext, plaintext) in table {
            #expect(ledger.plaintext(within: ciphertext) == plaintext)
            ledger.confirm(ciphertext)
            #expect(ledger.arrived == plaintext)
        }
        // Nothing goes back.
        ledger.confirm(0)
        #expect(ledger.arrived == 15 && ledger.plaintext(within: 0) == 15)
    }

    @Test func aGoodbyeHoldsTheLastWriteBack() {
        var ledger = TLSLedger()
        ledger.wrote(10, endingAt: 32)
        ledger.extend(to: 56)
        ledger.confirm(32)
        #expect(ledger.arrived == 0)
        ledger.confirm(56)
        #expect(ledger.arrived == 10)
        // There is nothing left to hold back.
        ledger.extend(to: 80)
        #expect(ledger.arrived == 10)
    }

    /// Against a list of all writes.
    @Test func nothingIsLostOfManyWrites() {
        var random = SeededGenerator(announcedFor: "TLSLedgerTests.nothingIsLostOfManyWrites")
        var ledger = TLSLedger()
        var writes: [(ciphertext: Int64, plaintext: Int64)] = [(0, 0)]
        var confirmed: Int64 = 0
        for _ in 0..<5000 {
            let last = writes[writes.count - 1]
            if Int.random(in: 0..<3, using: &random) > 0 {
                let count = Int64.random(in: 1...1000, using: &random)
                let next = (last.ciphertext + count + .random(in: 0...50, using: &random), last.plaintext + count)
                writes.append(next)
                ledger.wrote(Int(count), endingAt: next.0)
            } else {
                confirmed = .random(in: confirmed...max(confirmed, last.ciphertext), using: &random)
                ledger.confirm(confirmed)
            }
            let place = Int64.random(in: confirmed...max(confirmed, last.ciphertext + 10), using: &random)
            #expect(ledger.arrived == writes.last { $0.ciphertext <= confirmed }?.plaintext)
            #expect(ledger.plaintext(within: place) == writes.last { $0.ciphertext <= place }?.plaintext)
        }
    }
}
