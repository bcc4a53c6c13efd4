import Testing

@testable import RoomService

/// Which images are looked at when, with time as a number.
@Suite struct ImageLedgerTests {
    private let second: Int64 = 1_000_000_000

    private static func copy(_ file: String) -> ImageLedger.Copy { ImageLedger.Copy(file: file, bytes: 10) }

    @Test func whatIsWantedIsLookedAtOnceAndThenNowAndThen() {
        var ledger = ImageLedger()
        let excess = ledger.want(["a", "b"])
        #expect(excess.isEmpty)
        #expect(ledger.takeDue(now: 0) == ["a", "b"])
        #expect(ledger.takeDue(now: 0) == [], "they are being looked at")
        #expect(ledger.succeeded("a", Self.copy("1"), now: 0) == true)
        #expect(ledger.files == ["a": "1"])
        #expect(ledger.takeDue(now: 599 * second) == [])
        #expect(ledger.takeDue(now: 600 * second) == ["a"])
        #expect(ledger.succeeded("a", nil, now: 600 * second) == false, "unchanged")
        #expect(ledger.takeDue(now: 1200 * second) == ["a"])
        #expect(ledger.succeeded("a", Self.copy("2"), now: 0) == true)
    }

    @Test func failuresAreTriedAgainLaterAndLaterAndToldOnce() {
        var ledger = ImageLedger()
        _ = ledger.want(["a"])
        var now: Int64 = 0
        var waits: [Int64] = []
        for attempt in 0..<10 {
            #expect(ledger.takeDue(now: now) == ["a"])
            #expect(ledger.failed("a", "does not exist", now: now) == (attempt == 0))
            let begin = now
            while ledger.items["a"].map({ _ in !isDue(ledger, now) }) ?? false { now += second }
            waits.append((now - begin) / second)
        }
        #expect(waits == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
        #expect(ledger.failedCount == 1)
        #expect(ledger.takeDue(now: now) == ["a"])
        #expect(ledger.failed("a", "another reason", now: now) == true)
        #expect(ledger.succeeded("a", Self.copy("1"), now: now) == true)
        #expect(ledger.failedCount == 0)
        #expect(ledger.failed("a", "does not exist", now: now) == true, "news again")
        #expect(ledger.files == ["a": "1"], "the last good copy stays")
    }

    private func isDue(_ ledger: ImageLedger, _ now: Int64) -> Bool {
        var copy = ledger
        return !copy.takeDue(now: now).isEmpty
    }

    @Test func whatChangesWhileItIsLookedAtIsLookedAtAgain() {
        var ledger = ImageLedger()
        _ = ledger.want(["a"])
        _ = ledger.takeDue(now: 0)
        ledger.outdate("a")
        #expect(ledger.takeDue(now: 0) == [])
        _ = ledger.succeeded("a", Self.copy("1"), now: 0)
        #expect(ledger.takeDue(now: 1) == ["a"])
        _ = ledger.succeeded("a", Self.copy("2"), now: 1)
        #expect(ledger.takeDue(now: 2) == [])
        ledger.outdate("a")
        #expect(ledger.takeDue(now: 2) == ["a"])
    }

    @Test func onlySoManyAtOnceAndInAll() {
        var ledger = ImageLedger()
        let many = Set((0..<300).map { String(1000 + $0) })
        let excess = ledger.want(many)
        #expect(excess == (256..<300).map { String(1000 + $0) })
        let taken = ledger.takeDue(now: 0)
        #expect(taken.count == ImageLedger.mostAtOnce)
        #expect(ledger.takeDue(now: 0) == [])
        _ = ledger.failed("1000", "no", now: 0)
        #expect(ledger.takeDue(now: 0) == ["1004"])
    }

    @Test func theLongestUnusedGoesFirstAndNothingInUse() {
        var ledger = ImageLedger()
        _ = ledger.want(["a"])
        _ = ledger.takeDue(now: 0)
        _ = ledger.succeeded("a", Self.copy("old"), now: 0)
        let files = [("old", 10, 1), ("older", 10, 0), ("new", 10, 5), ("middle", 10, 3)]
            .map { (name: $0.0, bytes: $0.1, lastUse: Int64($0.2)) }
        #expect(ledger.evictions(files, limit: 40).isEmpty)
        #expect(ledger.evictions(files, limit: 39) == ["older"])
        #expect(ledger.evictions(files, limit: 15) == ["older", "middle", "new"])
        #expect(ledger.evictions(files, limit: 0) == ["older", "middle", "new"])
        ledger.forget(file: "old")
        #expect(ledger.files.isEmpty)
    }

    @Test func whatNobodyWantsIsForgottenUnlessThereIsACopy() {
        var ledger = ImageLedger()
        ledger.remember("old", Self.copy("1"))
        _ = ledger.want(["a", "b"])
        _ = ledger.takeDue(now: 0)
        _ = ledger.succeeded("a", Self.copy("2"), now: 0)
        _ = ledger.failed("b", "no", now: 0)
        _ = ledger.want([])
        #expect(Set(ledger.items.keys) == ["old", "a"])
        #expect(ledger.filesInUse.isEmpty)
        _ = ledger.want(["a"])
        #expect(ledger.filesInUse == ["2"])
    }
}
